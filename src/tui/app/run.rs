//! The loop: messages in, update, effects out, a frame when something changed.

use super::load::Want;
use super::msg::{Effect, Msg, Now};
use super::snapshot::Snapshot;
use super::threads::{Submission, Writer, spawn_amender, spawn_reader};
use super::{Model, ask_goal, next_deadline, update};
use crate::ledger::Reader;
use crate::model::{SafeText, TimeMs};
use crate::tui::decisions::LedgerDecisions;
use crate::tui::keymap::{Key, Keymap};
use crate::tui::notice::{Courier, NotifyBy};
use crate::tui::terminal::input::{self, Input};
use crate::tui::terminal::screen::Screen;
use crate::tui::terminal::signals::{Signal, Watch};
use crate::tui::terminal::{self, Guard, copy};
use crate::tui::theme::Theme;
use crate::tui::{ColourWhen, EngineHere, Leave, Options, TuiError, view};
use crossterm::event::{Event, MouseButton, MouseEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::fs::File;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Frames a second at most.
const FRAMES: f64 = 10.0;
/// Frames a second at most on a bad link.
const CALM_FRAMES: f64 = 2.0;
/// How often an engine in this process is asked whether it ended.
const ENGINE_LOOK: Duration = Duration::from_secs(1);

/// What wakes the loop.
pub(crate) enum Wake {
    Msg(Msg),
    Input(Input),
    Signal(Signal),
    /// A snapshot lies in the slot.
    Fresh,
}

/// The newest snapshot that the loop has not taken, or why there is none.
pub(super) type Slot = Arc<Mutex<Option<Result<Box<Snapshot>, String>>>>;

/// Runs the interface until the operator leaves or the terminal is gone.
///
/// # Errors
/// When the ledger cannot be opened, or the terminal not be set up.
pub fn run(options: Options) -> Result<Leave, TuiError> {
    let Options {
        ledger,
        goal,
        read_only,
        theme,
        ascii,
        colour,
        calm,
        notify,
        keys,
        tour,
        amender,
        engine,
    } = options;
    let keymap = Keymap::new(read_only).with(&keys).map_err(TuiError::Keys)?;
    let colour = shows_colour(colour);
    let theme = theme.with_colour(colour);
    // Opened before the terminal is taken, so that an error is an ordinary message.
    let reader = Reader::open(&ledger)?;
    let guard = Guard::enter()?;
    let (send, wakes) = channel::<Wake>();
    let to_loop = send.clone();
    let _input = input::Reader::start(move |input| to_loop.send(Wake::Input(input)).is_ok())?;
    let to_loop = send.clone();
    let _signals = Watch::start(move |signal| drop(to_loop.send(Wake::Signal(signal))))?;
    let slot: Slot = Arc::default();
    let (ask, wants) = channel::<Want>();
    let _snapshots = spawn_reader(reader, ledger.clone(), wants, slot.clone(), send.clone())?;
    let copies = ledger.with_extension("copied.txt");
    let courier = Courier::start(&notify, send.clone())?;
    let ledger_text = SafeText::line(&ledger.display().to_string()).into_string();
    let amender = match amender {
        Some(amender) => Some(spawn_amender(amender, send.clone())?),
        None => None,
    };
    let decisions = Writer::start(LedgerDecisions::new(ledger), send)?;
    let engine_here = matches!(engine, EngineHere::InProcess(_));
    let mut model = Model::new(goal, read_only, engine_here);
    model.keymap = keymap;
    model.notify = notify.is_on();
    model.notify_every_ms = notify.every_ms;
    model.tour = tour.then(super::tour::Tour::default);
    let mut shell = Shell {
        model,
        theme,
        colour,
        ascii,
        screen: Screen::new(terminal::tty()?),
        guard,
        started: Instant::now(),
        frames: Frames::new(Instant::now(), if calm { CALM_FRAMES } else { FRAMES }),
        dirty: true,
        asked: None,
        ask,
        slot,
        decisions,
        amender,
        copies,
        notify,
        courier,
        ledger: ledger_text,
        engine,
    };
    let leave = shell.run(&wakes);
    // Decisions that were asked for are written before the terminal is given back.
    shell.decisions.finish();
    Ok(leave)
}

fn shows_colour(when: ColourWhen) -> bool {
    let no_color = std::env::var("NO_COLOR").is_ok_and(|value| !value.is_empty());
    // Terminals that would show colour sequences as nothing, or as rubbish.
    let plain = std::env::var("TERM").is_ok_and(|term| {
        term.is_empty() || term == "dumb" || term.starts_with("vt1") || term.starts_with("vt2")
    });
    let colour = match when {
        ColourWhen::Always => true,
        ColourWhen::Never => false,
        ColourWhen::Auto => !no_color && !plain,
    };
    // The library reads NO_COLOR by itself; what was asked for on the command line wins.
    crossterm::style::force_color_output(colour);
    colour
}

struct Shell {
    model: Model,
    theme: Theme,
    colour: bool,
    ascii: bool,
    screen: Screen<File>,
    guard: Guard,
    started: Instant,
    frames: Frames,
    dirty: bool,
    asked: Option<Want>,
    ask: Sender<Want>,
    slot: Slot,
    decisions: Writer,
    /// Takes paths of changed goal files.
    amender: Option<Sender<String>>,
    /// Where a text goes that is too long for the terminal's clipboard.
    copies: PathBuf,
    notify: NotifyBy,
    courier: Option<Courier>,
    /// The ledger's file, for notices.
    ledger: String,
    engine: EngineHere,
}

impl Shell {
    fn run(&mut self, wakes: &Receiver<Wake>) -> Leave {
        let (width, height) = terminal::size();
        if let Some(leave) = self.take(Msg::Resize(width, height)) {
            return leave;
        }
        loop {
            if let Some(leave) = self.draw_when_due() {
                return leave;
            }
            let first = match wakes.recv_timeout(self.patience()) {
                Ok(wake) => Some(wake),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Leave::TtyLost,
            };
            let ticked = first.is_none();
            // Everything that has arrived is taken before a frame is drawn.
            for wake in first.into_iter().chain(wakes.try_iter()) {
                if let Some(leave) = self.woken(wake) {
                    return leave;
                }
            }
            if ticked
                && self.is_due()
                && let Some(leave) = self.take(Msg::Tick)
            {
                return leave;
            }
            if let Some(leave) = self.ask_engine() {
                return leave;
            }
        }
    }

    fn now(&self) -> Now {
        Now {
            ms: self.started.elapsed().as_millis() as u64,
            wall: TimeMs::from_timestamp(jiff::Timestamp::now()),
        }
    }

    fn is_due(&self) -> bool {
        let now = self.now();
        next_deadline(&self.model).is_some_and(|at| at <= now.ms)
    }

    fn patience(&self) -> Duration {
        let mut longest = match self.engine {
            EngineHere::InProcess(_) if self.model.engine_ended.is_none() => ENGINE_LOOK,
            _ => Duration::from_secs(3_600),
        };
        if let Some(at) = next_deadline(&self.model) {
            let left = at.saturating_sub(self.now().ms);
            longest = longest.min(Duration::from_millis(left.max(1)));
        }
        if self.dirty {
            longest = longest.min(self.frames.wait(Instant::now()));
        }
        longest
    }

    fn woken(&mut self, wake: Wake) -> Option<Leave> {
        let msg = match wake {
            Wake::Msg(msg) => msg,
            Wake::Fresh => {
                let fresh = self
                    .slot
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .take();
                match fresh? {
                    Ok(shot) => Msg::Snapshot(shot),
                    Err(why) => Msg::LoadFailed(why),
                }
            }
            Wake::Input(Input::Lost) | Wake::Signal(Signal::HangUp) => Msg::TtyLost,
            Wake::Input(Input::Event(event)) => match event {
                Event::Key(key) => Msg::Key(Key::of_event(&key)?),
                Event::Paste(text) => Msg::Paste(text),
                Event::Mouse(mouse) => match mouse.kind {
                    MouseEventKind::ScrollUp => Msg::Wheel(-3),
                    MouseEventKind::ScrollDown => Msg::Wheel(3),
                    MouseEventKind::Down(MouseButton::Left) => Msg::Click(mouse.column, mouse.row),
                    _ => return None,
                },
                Event::Resize(width, height) => Msg::Resize(width, height),
                _ => return None,
            },
            Wake::Signal(Signal::Terminate) => Msg::Terminate,
            Wake::Signal(Signal::Stop) => Msg::Suspend,
            Wake::Signal(Signal::Resize) => {
                let (width, height) = terminal::size();
                Msg::Resize(width, height)
            }
            Wake::Signal(Signal::Continue) => {
                if self.guard.renew().is_err() {
                    return Some(Leave::TtyLost);
                }
                self.screen.forget();
                let (width, height) = terminal::size();
                Msg::Resize(width, height)
            }
        };
        self.take(msg)
    }

    /// One message through update, and its effects.
    fn take(&mut self, msg: Msg) -> Option<Leave> {
        let now = self.now();
        let effects = update(&mut self.model, now, msg);
        self.dirty = true;
        for effect in effects {
            if let Some(leave) = self.perform(effect) {
                return Some(leave);
            }
        }
        let want = self.model.want();
        if self.asked.as_ref() != Some(&want) {
            // The reader's thread ends only with this one.
            drop(self.ask.send(want.clone()));
            self.asked = Some(want);
        }
        None
    }

    fn perform(&mut self, effect: Effect) -> Option<Leave> {
        let written = match effect {
            Effect::Submit {
                local,
                goal,
                job,
                act,
            } => {
                let text = ask_goal::text_of(&self.model, &act);
                self.decisions.send(Submission {
                    local,
                    goal,
                    job,
                    act,
                    text,
                });
                Ok(())
            }
            Effect::Propose(file) => {
                let taken = self
                    .amender
                    .as_ref()
                    .is_some_and(|amender| amender.send(file.clone()).is_ok());
                if !taken {
                    let why = "this interface reads no goal files; dogwatch amend FILE does";
                    return self.take(Msg::Proposed {
                        file,
                        result: Err(why.to_owned()),
                    });
                }
                Ok(())
            }
            Effect::Copy(text) => self.copy(&text),
            Effect::Mouse(on) => self.screen.raw(if on {
                b"\x1b[?1000h\x1b[?1002h\x1b[?1006h".as_slice()
            } else {
                b"\x1b[?1006l\x1b[?1002l\x1b[?1000l".as_slice()
            }),
            Effect::Repaint => {
                self.screen.forget();
                Ok(())
            }
            Effect::Notify(notice) => {
                if let Some(courier) = &self.courier {
                    courier.carry(notice.json(&self.ledger));
                }
                self.screen.raw(&notice.bytes(&self.notify))
            }
            Effect::Theme(theme) => {
                self.theme = theme.with_colour(self.colour);
                self.screen.forget();
                Ok(())
            }
            Effect::Suspend => {
                let back = self.guard.suspend();
                self.screen.forget();
                let (width, height) = terminal::size();
                self.model.size = (width, height);
                back
            }
            Effect::Leave(leave) => return Some(leave),
        };
        written.is_err().then_some(Leave::TtyLost)
    }

    /// To the terminal's clipboard; what is too long for that into a file beside the ledger.
    fn copy(&mut self, text: &str) -> std::io::Result<()> {
        let in_tmux = std::env::var_os("TMUX").is_some();
        if let Some(bytes) = copy::sequence(text, in_tmux) {
            self.model.say("sent to the terminal", false);
            return self.screen.raw(&bytes);
        }
        match std::fs::write(&self.copies, text) {
            Ok(()) => {
                let path = self.copies.display();
                let said = format!("too long for the terminal; saved as {path}");
                self.model.say(said, false);
            }
            Err(error) => self.model.say(format!("could not be saved: {error}"), true),
        }
        Ok(())
    }

    fn draw_when_due(&mut self) -> Option<Leave> {
        if !self.dirty || !self.frames.take(Instant::now()) {
            return None;
        }
        self.model.now = self.now();
        let (width, height) = self.model.size;
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        let cursor = view::draw(&self.model, &self.theme, self.ascii, &mut buffer);
        match self.screen.present(buffer, cursor) {
            Ok(0) => self.frames.give_back(),
            Ok(_) => {}
            Err(_) => return Some(Leave::TtyLost),
        }
        self.dirty = false;
        let before = self.model.drawn.clone();
        let now = self.now();
        update(&mut self.model, now, Msg::Drawn);
        // That a request is now on the screen is itself shown (its keys wake in a moment).
        self.dirty = before != self.model.drawn;
        None
    }

    fn ask_engine(&mut self) -> Option<Leave> {
        let ended = match &self.engine {
            EngineHere::InProcess(handle) if self.model.engine_ended.is_none() => handle.finished(),
            _ => None,
        };
        self.take(Msg::EngineEnded(
            ended?.map_err(|why| SafeText::line(&why).into_string()),
        ))
    }
}

/// A bucket of frames: a key after a quiet moment is shown at once, a flood at the stated rate.
#[derive(Debug)]
struct Frames {
    left: f64,
    at: Instant,
    rate: f64,
}

impl Frames {
    /// Frames that may follow each other at once.
    const BURST: f64 = 2.0;

    fn new(now: Instant, rate: f64) -> Self {
        Self {
            left: Self::BURST,
            at: now,
            rate,
        }
    }

    fn take(&mut self, now: Instant) -> bool {
        let passed = now.duration_since(self.at).as_secs_f64();
        self.left = (self.left + passed * self.rate).min(Self::BURST);
        self.at = now;
        if self.left < 1.0 {
            return false;
        }
        self.left -= 1.0;
        true
    }

    /// A frame that sent nothing was none.
    fn give_back(&mut self) {
        self.left = (self.left + 1.0).min(Self::BURST);
    }

    fn wait(&self, now: Instant) -> Duration {
        let passed = now.duration_since(self.at).as_secs_f64();
        let missing = 1.0 - self.left - passed * self.rate;
        Duration::from_secs_f64((missing / self.rate).clamp(0.001, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requirement 9.
    #[test]
    fn requirement_09_a_flood_is_drawn_at_the_stated_rate_and_a_key_at_once() {
        let start = Instant::now();
        for (rate, most) in [(FRAMES, 52), (CALM_FRAMES, 12)] {
            let mut frames = Frames::new(start, rate);
            assert!(frames.take(start));
            let drawn = (0..5_000)
                .filter(|ms| frames.take(start + Duration::from_millis(*ms)))
                .count();
            assert!(drawn <= most && drawn > most - 5, "{drawn}");
            let later = start + Duration::from_secs(10);
            assert!(frames.take(later));
        }
    }
}
