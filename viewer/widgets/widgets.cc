#include "viewer/widgets/widgets.h"

#include <fmt/format.h>
#include <imgui/imgui.h>
#include <imgui/imgui_internal.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/text.h"
#include "core/debug/run/fix_of_error.h"
#include "viewer/model/document.h"
#include "viewer/model/requests.h"
#include "viewer/model/tasks.h"
#include "viewer/model/timeline_camera.h"

namespace hloscope::viewer {
namespace {

// Where a cut may go: not inside a character.
size_t CharacterStart(std::string_view text, size_t at) {
  while (at > 0 && at < text.size() && (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

std::string CutInTheMiddle(std::string_view text, size_t most) {
  if (text.size() <= most || most < 8) return std::string(text);
  size_t tail = CharacterStart(text, text.size() - most / 3);
  size_t head = CharacterStart(text, most - most / 3 - 3);
  return std::string(text.substr(0, head)) + "…" + std::string(text.substr(tail));
}

float WidthOf(std::string_view text) {
  return ImGui::CalcTextSize(text.data(), text.data() + text.size()).x;
}

// Takes the place of a tooltip that was there: what is inside says more than what is around it.
void ShowTooltip(std::string_view text) {
  if (!ImGui::BeginTooltipEx(ImGuiTooltipFlags_OverridePrevious, ImGuiWindowFlags_None)) return;
  constexpr float kWidest = 46;  // heights of a line: about 90 characters
  ImGui::PushTextWrapPos(
      std::min(kWidest * ImGui::GetFontSize(), 0.9f * ImGui::GetMainViewport()->WorkSize.x));
  ImGui::TextUnformatted(text.data(), text.data() + text.size());
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
}

void Draw(std::string_view whole, std::string_view shown) {
  ImGui::TextUnformatted(shown.data(), shown.data() + shown.size());
  WholeIfCut(whole, shown);
}
void Draw(std::string_view whole) { Draw(whole, SafeText(whole)); }

// Whether the values in the current column of the current table are right-aligned, as the last
// frame drew them; null: no table.
bool* IsRightColumn() {
  ImGuiTable* const table = ImGui::GetCurrentTable();
  if (table == nullptr || table->CurrentColumn < 0) return nullptr;
  const int column = table->CurrentColumn;
  return table->InnerWindow->StateStorage.GetBoolRef(ImHashData(&column, sizeof column, table->ID));
}

}  // namespace

void Help(std::string_view text) {
  if (!ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled)) return;
  // Who types in a field looks at the hits below it: only the pointer asks for help there.
  if (ImGui::IsItemFocused() && ImGui::GetIO().WantTextInput &&
      !ImGui::IsMouseHoveringRect(ImGui::GetItemRectMin(), ImGui::GetItemRectMax()))
    return;
  ShowTooltip(SafeLines(text));
}

void Help(Command command) {
  const CommandRow& row = RowOf(command);
  Help(fmt::format("{}{}{}", row.help, row.keys.empty() ? "" : "\n", row.keys));
}

void WholeIfCut(std::string_view whole, std::string_view shown) {
  if (!ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled)) return;
  const ImGuiWindow& window = *ImGui::GetCurrentWindowRead();
  const float right = std::min(ImGui::GetItemRectMax().x, window.ClipRect.Max.x);
  const float begin = ImGui::GetItemRectMin().x;
  const bool fits = begin + WidthOf(shown) <= right + 1 && begin + 1 >= window.ClipRect.Min.x;
  if (!fits || whole != shown) ShowTooltip(SafeText(whole, 2000));
}

bool CommandButton(Frame& frame, Command command, const char* label, bool is_small) {
  const bool pressed = is_small ? ImGui::SmallButton(label) : ImGui::Button(label);
  Help(command);
  if (pressed) frame.context.requests.Run(command);
  return pressed;
}

bool QuietButton(const Theme& theme, const char* label, bool active, bool enabled) {
  ImGui::PushStyleColor(ImGuiCol_Button,
                        active ? theme[Color::kSelected] : theme.With(Color::kRaised, 0));
  ImGui::PushStyleColor(ImGuiCol_Text, theme[!enabled ? Color::kTextDisabled
                                             : active ? Color::kText
                                                      : Color::kTextSecondary]);
  ImGui::BeginDisabled(!enabled);
  bool pressed = ImGui::Button(label);
  ImGui::EndDisabled();
  ImGui::PopStyleColor(2);
  return pressed;
}

bool BeginTab(const char* title, std::string_view help) {
  const bool is_open = ImGui::BeginTabItem(title);
  Help(help);
  return is_open;
}

void Header(const char* name) {
  const ImGuiTable& table = *ImGui::GetCurrentTable();
  if (const bool* right = IsRightColumn(); right != nullptr && *right) {
    // As wide as ImGui's arrow of sorted columns, which stands there.
    const bool sorts = (table.Flags & ImGuiTableFlags_Sortable) != 0;
    const float arrow =
        sorts ? std::trunc(0.65F * ImGui::GetFontSize() + ImGui::GetStyle().FramePadding.x) : 0;
    const float room = std::floor(ImGui::GetContentRegionAvail().x - WidthOf(name) - arrow);
    if (room > 0) ImGui::SetCursorPosX(ImGui::GetCursorPosX() + room);
  }
  ImGui::TableHeader(name);
}

void HeaderRow(std::span<const char* const> help) {
  ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
  for (int c = 0; c < ImGui::TableGetColumnCount(); ++c) {
    if (!ImGui::TableSetColumnIndex(c)) continue;
    const char* name = ImGui::TableGetColumnName(c);
    ImGui::PushID(c);
    Header(name);
    ImGui::PopID();
    if (static_cast<size_t>(c) < help.size())
      Help(fmt::format("{}: {}", name, help[static_cast<size_t>(c)]));
  }
}

std::string SafeText(std::string_view text, size_t most) {
  // Escaping makes text up to eight times longer; what is cut away need not be escaped first.
  std::string safe = text.size() > 4 * most ? EscapeForTerminal(CutInTheMiddle(text, 4 * most))
                                            : EscapeForTerminal(text);
  return CutInTheMiddle(safe, most);
}

std::string SafeLines(std::string_view text, size_t most) {
  std::string out;
  while (out.size() < most) {
    const size_t end = std::min(text.find('\n'), text.size());
    out += SafeText(text.substr(0, end), most - out.size());
    if (end == text.size()) break;
    out += '\n';
    text.remove_prefix(end + 1);
  }
  return out;
}

void SameLineIfRoom(float width) {
  ImGui::SameLine();
  if (ImGui::GetContentRegionAvail().x < width) ImGui::NewLine();
}

float ButtonWidth(const char* text) {
  return ImGui::CalcTextSize(text).x + 2 * ImGui::GetStyle().FramePadding.x;
}

float CheckboxWidth(const char* text) {
  return ImGui::CalcTextSize(text).x + ImGui::GetFrameHeight() +
         ImGui::GetStyle().ItemInnerSpacing.x;
}

void Label(std::string_view text) { Draw(text); }

void Label(const Theme& theme, Color color, std::string_view text) {
  ImGui::PushStyleColor(ImGuiCol_Text, theme[color]);
  Label(text);
  ImGui::PopStyleColor();
}

std::string FittedText(std::string_view text, float room) {
  std::string safe = SafeText(text, 1000);
  if (WidthOf(safe) <= room || safe.size() < 12) return safe;
  size_t low = 8, high = safe.size();
  while (low + 1 < high) {
    size_t middle = (low + high) / 2;
    (WidthOf(CutInTheMiddle(safe, middle)) <= room ? low : high) = middle;
  }
  return CutInTheMiddle(safe, low);
}

void FittedLabel(std::string_view text) {
  Draw(text, FittedText(text, ImGui::GetContentRegionAvail().x));
}

void Title(Frame& frame, std::string_view text) {
  ImGui::PushFont(frame.strong, 18);
  Label(text);
  ImGui::PopFont();
}

void Section(Frame& frame, std::string_view title, float gap) {
  ImGui::Dummy(ImVec2(0, gap * frame.scale));
  ImGui::PushFont(frame.strong, 0);
  Label(title);
  ImGui::PopFont();
  ImGui::Separator();
}

void Sentence(Frame& frame, std::string_view text) {
  ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kTextSecondary]);
  ImGui::PushTextWrapPos(0);
  ImGui::TextUnformatted(SafeText(text, 1000).c_str());
  ImGui::PopTextWrapPos();
  ImGui::PopStyleColor();
}

void ErrorSentence(Frame& frame, std::string_view what, const Error& error) {
  Error alone = error;
  alone.hint.clear();
  ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kError]);
  ImGui::PushTextWrapPos(0);
  ImGui::TextUnformatted(SafeText(fmt::format("{}: {}", what, alone.ToString()), 1000).c_str());
  ImGui::PopTextWrapPos();
  ImGui::PopStyleColor();
  FixSentence(frame, error);
}

void FixSentence(Frame& frame, const Error& error) {
  if (const std::string fix = debug::FixOf(error); !fix.empty()) Sentence(frame, "fix: " + fix);
}

void Fact(Frame& frame, std::string_view name, std::string_view value) {
  float x = ImGui::GetCursorPosX();
  Label(frame.theme, Color::kTextSecondary, name);
  ImGui::SameLine(x + 110 * frame.scale);
  FittedLabel(value);
}

void Facts(Frame& frame, std::string_view name, std::span<const std::string_view> values) {
  constexpr size_t kMax = 6, kMaxInTooltip = 40;
  const size_t shown = std::min(values.size(), kMax);
  for (size_t k = 0; k < shown; ++k) Fact(frame, k == 0 ? name : "and", values[k]);
  if (values.size() == shown) return;
  Label(frame.theme, Color::kTextSecondary,
        fmt::format("and {} more", CountText(std::ssize(values) - static_cast<int64_t>(shown))));
  std::string rest;
  for (const std::string_view value :
       values.subspan(shown, std::min(values.size() - shown, kMaxInTooltip)))
    rest += fmt::format("{}{}", rest.empty() ? "" : "\n", SafeText(value));
  Help(rest);
}

bool ShowPendingState(Frame& frame, PendingState state, const Error& error, std::string_view what) {
  switch (state) {
    case PendingState::kReady:
      return true;
    case PendingState::kNone:
      Sentence(frame, fmt::format("{}: not loaded yet", what));
      return false;
    case PendingState::kWaiting:
      Sentence(frame, fmt::format("loading {} …", what));
      return false;
    case PendingState::kFailed:
      if (frame.context.tasks.was_cancelled() || error.error_class == ErrorClass::kCancelled) {
        Sentence(frame, fmt::format("cannot load {}: {}", what, error.ToString()));
      } else {
        ErrorSentence(frame, fmt::format("cannot load {}", what), error);
      }
      if (frame.context.tasks.was_cancelled()) {
        ImGui::PushID(&error);
        CommandButton(frame, Command::kResume, "Resume", true);
        ImGui::PopID();
      }
      return false;
  }
  return false;
}

bool ShowDump(Frame& frame) {
  const Pending<dump::DumpModel>& dump = frame.context.document.dump();
  if (dump.state != PendingState::kNone) return ShowPending(frame, dump, "the dump");
  Sentence(frame, "no dump is open: press Ctrl+O");
  return false;
}

void SteerByKeys(TimelineCamera& camera, double at) {
  const ImGuiID self = ImGui::GetID("##steered");
  for (const ImGuiKey key : {ImGuiKey_W, ImGuiKey_S, ImGuiKey_A, ImGuiKey_D})
    ImGui::SetKeyOwner(key, self);
  if (ImGui::IsKeyPressed(ImGuiKey_W)) camera.Zoom(at, 1.4);
  if (ImGui::IsKeyPressed(ImGuiKey_S)) camera.Zoom(at, 1 / 1.4);
  if (ImGui::IsKeyPressed(ImGuiKey_A)) camera.Pan(-0.15);
  if (ImGui::IsKeyPressed(ImGuiKey_D)) camera.Pan(0.15);
}

bool Choice(std::string_view text, std::string_view id, bool selected) {
  const std::string fitted = FittedText(text, ImGui::GetContentRegionAvail().x);
  const bool pressed = ImGui::Selectable(fmt::format("{}##{}", fitted, id).c_str(), selected);
  WholeIfCut(text, fitted);
  return pressed;
}

bool Row(Frame& frame, std::string_view id, bool selected, bool highlighted) {
  if (highlighted && !selected)
    ImGui::TableSetBgColor(ImGuiTableBgTarget_RowBg0, frame.theme[Color::kHighlighted]);
  return ImGui::Selectable(std::string(id).c_str(), selected,
                           ImGuiSelectableFlags_SpanAllColumns | ImGuiSelectableFlags_AllowOverlap);
}

void RightLabel(std::string_view text) {
  const std::string fitted = FittedText(text, ImGui::GetContentRegionAvail().x);
  if (bool* const right = IsRightColumn()) *right = true;
  const float room = ImGui::GetContentRegionAvail().x - WidthOf(fitted);
  if (room > 0) ImGui::SetCursorPosX(ImGui::GetCursorPosX() + room);
  Draw(text, fitted);
}

void RightLabel(const Theme& theme, Color color, std::string_view text) {
  ImGui::PushStyleColor(ImGuiCol_Text, theme[color]);
  RightLabel(text);
  ImGui::PopStyleColor();
}

}  // namespace hloscope::viewer
