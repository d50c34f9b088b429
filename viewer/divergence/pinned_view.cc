// Pinned: values of instructions that stay in sight while others are selected and after another
// run, with what they were before.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>

#include "viewer/lab/hover_values.h"
#include "viewer/lab/pins.h"
#include "viewer/model/marks.h"
#include "viewer/model/messages.h"
#include "viewer/model/navigation.h"
#include "viewer/model/requests.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

struct PinColumn {
  const char* title;
  std::string PinnedSide::* text;
  const char* help;
};
constexpr PinColumn kPinColumns[] = {
    {"first elements", &PinnedSide::first, "in row-major order"},
    {"least", &PinnedSide::least, "over finite elements"},
    {"largest", &PinnedSide::largest, "over finite elements"},
    {"mean", &PinnedSide::mean, "over finite elements"},
    {"NaN", &PinnedSide::nans, "number of NaN elements; empty: none"}};

// "f: PLATFORM 1, 2; REFERENCE 1, 2".
std::string TextOfPin(const Pin& pin) {
  std::string text = SafeText(pin.instruction, 60);
  if (pin.sides.empty()) return text + "; values appear after the next run";
  for (size_t i = 0; i < pin.sides.size(); ++i) {
    text += fmt::format("{} {} {}", i == 0 ? ":" : ";", pin.sides[i].platform, pin.sides[i].first);
  }
  return text;
}

class PinnedView : public View {
 public:
  void Draw(Frame& frame) override {
    Update(frame.context);
    if (pins_.empty()) {
      return Sentence(frame,
                      "nothing pinned: Shift+V pins the values of the instruction under the "
                      "pointer, or of the selected one, and compares them with the next run");
    }
    constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_RowBg | ImGuiTableFlags_ScrollY |
                                       ImGuiTableFlags_ScrollX | ImGuiTableFlags_SizingFixedFit |
                                       ImGuiTableFlags_BordersInnerV;
    if (!ImGui::BeginTable("##pins", 4 + static_cast<int>(std::size(kPinColumns)), kFlags)) return;
    ImGui::TableSetupScrollFreeze(1, 1);
    for (const char* title : {"instruction", "stage", "verdict", "platform"}) {
      ImGui::TableSetupColumn(title);
    }
    for (const PinColumn& column : kPinColumns) ImGui::TableSetupColumn(column.title);
    ImGui::TableHeadersRow();
    size_t removed = pins_.size();
    for (size_t i = 0; i < pins_.size(); ++i) {
      ImGui::PushID(static_cast<int>(i));
      if (DrawPin(frame, pins_[i])) removed = i;
      ImGui::PopID();
    }
    ImGui::EndTable();
    if (removed < pins_.size()) {
      pins_.erase(pins_.begin() + static_cast<ptrdiff_t>(removed));
      Changed();
    }
  }

  bool Run(Command command, Frame& frame) override {
    if (command != Command::kPin) return false;
    Update(frame.context);
    const Hovered& hovered = frame.context.marks.Of<Hovered>();
    const bool is_hovered = ImGui::GetFrameCount() - hovered.frame <= 1;
    const Selection& wanted = is_hovered ? hovered.selection : frame.context.navigation.selection();
    std::optional<Pin> pin = PinOf(frame.context, wanted);
    if (!pin) {
      frame.context.messages.Post(Severity::kNote, "select an instruction to pin its values");
      return true;
    }
    const bool is_new = std::ranges::none_of(pins_, [&](const Pin& p) { return p.IsOf(*pin); });
    frame.context.messages.Post(Severity::kNote,
                                (is_new ? "pinned " : "already pinned: ") + TextOfPin(*pin));
    if (is_new) pins_.push_back(*std::move(pin));
    Changed();
    return true;
  }

  std::string State() const override { return state_; }
  void SetState(std::string_view state) override {
    pins_ = PinsFromText(state);
    Changed();
  }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    if (format != ExportFormat::kCsv) return View::Export(format, context);
    std::string out =
        "instruction,computation,module,stage,shape,inputs,verdict,largest_error,platform,when";
    for (const PinColumn& column : kPinColumns) out += fmt::format(",{}", column.title);
    out += '\n';
    for (const Pin& pin : pins_) {
      for (const auto& [when, sides] :
           {std::pair("now", &pin.sides), std::pair("before", &pin.before)}) {
        for (const PinnedSide& side : *sides) {
          const bool is_now = sides == &pin.sides;
          for (const std::string* text :
               {&pin.instruction, &pin.computation, &pin.module, &pin.stage, &pin.shape}) {
            out += CsvCell(*text) + ",";
          }
          out += fmt::format("{},{},{},{},{}", CsvCell(is_now ? pin.inputs : ""),
                             is_now ? pin.verdict : "", is_now ? pin.largest_error : "",
                             CsvCell(side.platform), when);
          for (const PinColumn& column : kPinColumns) out += "," + CsvCell(side.*column.text);
          out += '\n';
        }
      }
    }
    return out;
  }

  std::string HighlightedItems(Context& context) const override {
    std::string out;
    const Selection& now = context.navigation.selection();
    for (const Pin& pin : pins_) {
      if (PlaceOfPin(context, pin) == now) out += "selected ";
      out += pin.instruction;
      for (const PinnedSide& side : pin.sides)
        out += fmt::format("; {} {}", side.platform, side.first);
      if (!pin.before.empty()) out += "; before " + pin.before.front().first;
      out += "\n";
    }
    return out;
  }

 private:
  void Update(Context& context) {
    UpdatePins(context, pins_);
    Changed();
  }
  void Changed() {
    if (pins_ == written_) return;
    written_ = pins_;
    state_ = PinsText(pins_);
  }

  // True: it is to be removed.
  static bool DrawPin(Frame& frame, const Pin& pin) {
    const size_t rows = std::max<size_t>(pin.sides.size(), 1);
    bool remove = false;
    for (size_t r = 0; r < rows; ++r) {
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      if (r == 0) remove = DrawName(frame, pin);
      ImGui::TableNextColumn();
      if (r == 0) Label(frame.theme, Color::kTextSecondary, SafeText(pin.stage, 32));
      ImGui::TableNextColumn();
      if (r == 0) Label(pin.verdict);
      if (r == 1) Label(frame.theme, Color::kTextSecondary, pin.largest_error);
      if (pin.sides.empty()) {
        ImGui::TableNextColumn();
        ImGui::TableNextColumn();
        Label(frame.theme, Color::kTextSecondary, "values appear after the next run");
        continue;
      }
      DrawSide(frame, pin.sides[r], r < pin.before.size() ? &pin.before[r] : nullptr);
    }
    return remove;
  }

  static bool DrawName(Frame& frame, const Pin& pin) {
    const bool remove = ImGui::SmallButton("×");
    ImGui::SetItemTooltip("unpin; Ctrl+Z undoes it");
    ImGui::SameLine();
    const Selection place = PlaceOfPin(frame.context, pin);
    const bool is_here = place.kind != SelectionKind::kNothing;
    ImGui::BeginDisabled(!is_here);
    if (ImGui::Selectable(SafeText(pin.instruction, 40).c_str(),
                          is_here && place == frame.context.navigation.selection())) {
      frame.context.navigation.Select(place);
    }
    ImGui::EndDisabled();
    ImGui::SetItemTooltip(
        "%s", SafeText(fmt::format("{} in {}, {}{}{}", pin.shape, pin.computation, pin.module,
                                   pin.inputs.empty() ? "" : ", ", pin.inputs),
                       300)
                  .c_str());
    return remove;
  }

  // Each cell with its value before the last run, where that was different.
  static void DrawSide(Frame& frame, const PinnedSide& side, const PinnedSide* before) {
    ImGui::TableNextColumn();
    Label(frame.theme, Color::kTextSecondary, SafeText(side.platform, 24));
    for (const PinColumn& column : kPinColumns) {
      ImGui::TableNextColumn();
      Label(side.*column.text);
      if (before == nullptr || before->*column.text == side.*column.text) continue;
      const std::string& old = before->*column.text;
      ImGui::SameLine();
      Label(frame.theme, Color::kTextSecondary, old.empty() ? "was none" : "was " + old);
    }
  }

  std::vector<Pin> pins_, written_;  // written_: as state_
  std::string state_;
};

}  // namespace

std::unique_ptr<View> MakePinnedView() { return std::make_unique<PinnedView>(); }

}  // namespace hloscope::viewer
