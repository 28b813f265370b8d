use crate::tui::fixture::World;

#[test]
fn look() {
    let mut world = World::filled();
    let size = std::env::var("SIZE").unwrap_or("80x24".into());
    let (w, h) = size.split_once('x').unwrap();
    world.resize(w.parse().unwrap(), h.parse().unwrap());
    for keys in std::env::var("KEYS")
        .unwrap_or("1,2,3,4,5,6,7,8,0".into())
        .split(',')
    {
        world.keys(
            &keys
                .replace("ENTER", "\n")
                .replace("TAB", "\t")
                .replace("ESC", "\x1b"),
        );
        world.drawn_and(800);
        println!("=== {keys}\n{}", world.screen());
    }
}
