// Small pieces that views are drawn from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/escape.h"
#include "viewer/model/number_text.h"
#include "viewer/model/pending.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

class TimelineCamera;

// Untrusted text made safe to draw: control characters and invalid UTF-8 escaped, on one line,
// and no longer than `most` bytes, cut in the middle so that a numeric suffix stays.
std::string SafeText(std::string_view text, size_t most = 200);

// The same for text of several lines, which stay lines.
std::string SafeLines(std::string_view text, size_t most = 4000);

// A tooltip of the last item while the pointer is on it, also where it is disabled: a sentence, or
// what a command does and its keys.
void Help(std::string_view text);
void Help(Command command);
// The whole text as a tooltip where the last item shows less of it: cut in what is `shown`, or by
// the item's room.
void WholeIfCut(std::string_view whole, std::string_view shown);
// A button that asks for a command of commands.def, with its help.
bool CommandButton(Frame& frame, Command command, const char* label, bool is_small = false);
// A button that is only its text until the pointer is over it.
bool QuietButton(const Theme& theme, const char* label, bool active, bool enabled = true);
// A tab of a tab bar, with its help; ended by ImGui::EndTabItem where true.
bool BeginTab(const char* title, std::string_view help);
// The header of the current column, at the side where the values below it stand (RightLabel).
void Header(const char* name);
// The headers of a table, each with a sentence; click to sort where the table sorts.
void HeaderRow(std::span<const char* const> help);

// Text as it is (no format), after SafeText; what does not show is its tooltip.
void Label(std::string_view text);
void Label(const Theme& theme, Color color, std::string_view text);
// SafeText, cut in the middle with "…" where it is wider than `room` pixels.
std::string FittedText(std::string_view text, float room);
// The same in the width that is left, the whole as a tooltip.
void FittedLabel(std::string_view text);
void Title(Frame& frame, std::string_view text);
// A quiet sentence: why a panel or part of it is empty, wrapped.
void Sentence(Frame& frame, std::string_view text);
// An error, and on a line of its own what helps against it (debug::FixOf), wrapped. `what`: what
// failed, as "the run failed".
void ErrorSentence(Frame& frame, std::string_view what, const Error& error);
// "fix: …" of it alone; nothing where no fix is known.
void FixSentence(Frame& frame, const Error& error);
// The title of what comes next, after a gap of so many logical pixels.
void Section(Frame& frame, std::string_view title, float gap = 4);
// A name and its value on one line, the name quiet.
void Fact(Frame& frame, std::string_view name, std::string_view value);
// Of several values one row each; those after the first few in a tooltip.
void Facts(Frame& frame, std::string_view name, std::span<const std::string_view> values);

// What is shown in place of something that is not there yet: progress, the error, or nothing where
// it is ready. True: it is ready.
template <typename T>
bool ShowPending(Frame& frame, const Pending<T>& pending, std::string_view what);
bool ShowPendingState(Frame& frame, PendingState state, const Error& error, std::string_view what);
template <typename T>
bool ShowPending(Frame& frame, const Pending<T>& pending, std::string_view what) {
  return ShowPendingState(frame, pending.state, pending.error, what);
}

// The same of the dump; where none is open, what opens one.
bool ShowDump(Frame& frame);

// Goes on in this line where there is room for an item of that width, else in the next.
void SameLineIfRoom(float width);
// The width of a button or check box with that text.
float ButtonWidth(const char* text);
float CheckboxWidth(const char* text);

// W and S zoom, A and D move, as in trace viewers: at the share `at` of the width, where the
// pointer is.
void SteerByKeys(TimelineCamera& camera, double at);

// A line of text that can be clicked, cut to the room there is, the whole as a tooltip. `id`
// distinguishes it from others in the same place.
bool Choice(std::string_view text, std::string_view id, bool selected = false);
// A row of a table that can be clicked as a whole; `selected` is the selection itself,
// `highlighted` stands for it.
bool Row(Frame& frame, std::string_view id, bool selected, bool highlighted);
// Right-aligned text in the current cell of a table.
void RightLabel(std::string_view text);
void RightLabel(const Theme& theme, Color color, std::string_view text);

}  // namespace hloscope::viewer
