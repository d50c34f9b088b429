#include "viewer/views/thread_step.h"

#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <cfloat>
#include <span>
#include <utility>

#include "core/base/counted.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using ptx::StepRef;
using ptx::ThreadTrace;
using ptx::TracedInstruction;
using ptx::TracedOperand;
using ptx::TracedStep;

constexpr size_t kMaxBytes = 16;  // of an access that are shown

bool IsHere(const TracedThread& traced, StepRef from) {
  return std::cmp_equal(from.thread, traced.thread().thread) && traced.thread().Has(from.step);
}

class StepPainter {
 public:
  StepPainter(Frame& frame, const TracedThread& traced, int64_t step)
      : frame_(frame), traced_(traced), step_(step) {}

  std::optional<int64_t> Draw(std::string& picked) {
    const ThreadTrace& thread = traced_.thread();
    const TracedStep& step = thread.at(step_);
    const TracedInstruction& in = traced_.InstructionOf(step_);
    ImGui::PushFont(frame_.mono, 0);
    FittedLabel(in.text);
    ImGui::PopFont();
    if (const std::string& name = traced_.ValueOf(step_); !name.empty()) {
      if (Choice("the value of " + name, "value")) picked = name;
    }
    DrawOperands(in, traced_.trace.ValuesOf(thread, step));
    int number = 0;
    for (const ptx::TracedAccess& access : thread.AccessesOf(step)) DrawAccess(access, number++);
    return goal_;
  }

 private:
  // Where a value comes from, and the step that a click on it leads to; -1: none.
  struct Origin {
    std::string text;
    int64_t goal = -1;
  };
  Origin OriginOfValue(StepRef from, bool is_written) const {
    const bool is_here = IsHere(traced_, from);
    if (is_written && (from.thread < 0 || is_here)) return {"written here"};
    if (from.thread < 0) return {"never written"};
    if (is_here) {
      return {fmt::format("step {}, line {}", CountText(from.step), traced_.LineOf(from.step)),
              from.step};
    }
    const bool is_own = std::cmp_equal(from.thread, traced_.thread().thread);
    const std::string where = is_own ? "" : fmt::format("thread {}, ", from.thread);
    return {where + (from.step < 0 ? "not recorded" : "step " + CountText(from.step))};
  }

  // Values have the room that names and origins leave.
  void DrawOperands(const TracedInstruction& in, std::span<const ptx::TracedValue> values) {
    if (in.operands.empty()) return;
    std::vector<Origin> origins;
    float from = 0;
    for (size_t i = 0; i < in.operands.size(); ++i) {
      const bool is_register = in.operands[i].kind == TracedOperand::Kind::kRegister;
      origins.push_back(is_register ? OriginOfValue(values[i].from, in.operands[i].written)
                                    : Origin{});
      from = std::max(from, ImGui::CalcTextSize(origins.back().text.c_str()).x);
    }
    ImGui::PushFont(frame_.mono, 0);
    float name = 0;
    for (const TracedOperand& operand : in.operands)
      name = std::max(name, ImGui::CalcTextSize(NameOf(operand).c_str()).x);
    ImGui::PopFont();
    constexpr ImGuiTableFlags kFlags =
        ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_RowBg | ImGuiTableFlags_NoSavedSettings;
    if (!ImGui::BeginTable("##values", 3, kFlags)) return;
    ImGui::TableSetupColumn("name", ImGuiTableColumnFlags_WidthFixed, name);
    ImGui::TableSetupColumn("value", ImGuiTableColumnFlags_WidthStretch);
    ImGui::TableSetupColumn("from", ImGuiTableColumnFlags_WidthFixed,
                            std::min(from, 0.45F * ImGui::GetContentRegionAvail().x));
    for (size_t i = 0; i < in.operands.size(); ++i) {
      const TracedOperand& operand = in.operands[i];
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      ImGui::PushFont(frame_.mono, 0);
      FittedLabel(NameOf(operand));
      ImGui::TableNextColumn();
      FittedLabel((operand.written ? "= " : "") +
                  ptx::ValueText(values[i].bits, operand.bytes, in.type));
      ImGui::PopFont();
      ImGui::TableNextColumn();
      DrawOrigin(origins[i], fmt::format("o{}", i));
    }
    ImGui::EndTable();
  }

  static std::string NameOf(const TracedOperand& operand) {
    return operand.name.empty() ? "constant" : operand.name;
  }

  // A link to the step that wrote it.
  void DrawOrigin(const Origin& origin, const std::string& id) {
    if (origin.text.empty()) return;
    if (origin.goal < 0) return Quiet(origin.text);
    if (Choice(origin.text, id)) goal_ = origin.goal;
  }

  void Quiet(const std::string& text) {
    ImGui::PushStyleColor(ImGuiCol_Text, frame_.theme[Color::kTextSecondary]);
    FittedLabel(text);
    ImGui::PopStyleColor();
  }

  std::string PlaceOf(const ptx::TracedAccess& access) const {
    const bool is_argument = access.space == ptx::TracedSpace::kArgument;
    std::string what(ptx::NameOf(access.space));
    if (is_argument || access.space == ptx::TracedSpace::kVariable)
      what += fmt::format(" {}", access.number);
    if (is_argument && access.number < traced_.arguments.size() &&
        !traced_.arguments[access.number].empty()) {
      what += fmt::format(" ({})", traced_.arguments[access.number]);
    }
    return what;
  }

  void DrawAccess(const ptx::TracedAccess& access, int number) {
    std::string bytes;
    for (const std::byte byte :
         traced_.thread().BytesOf(access).first(std::min<size_t>(access.held, kMaxBytes))) {
      bytes += fmt::format(" {:02x}", static_cast<unsigned>(byte));
    }
    if (access.held > kMaxBytes) bytes += " …";
    const std::string end = access.held < access.bytes ? ", beyond its end" : "";
    ImGui::Spacing();
    FittedLabel(fmt::format("{} {} of {} at {}{}", access.writes ? "writes" : "reads",
                            Counted(access.bytes, "byte"), PlaceOf(access), access.offset, end));
    if (!bytes.empty()) {
      ImGui::PushFont(frame_.mono, 0);
      Quiet(bytes.substr(1));
      ImGui::PopFont();
    }
    if (access.from.thread < 0) return;
    Quiet("written by");
    ImGui::SameLine();
    DrawOrigin(OriginOfValue(access.from, false), fmt::format("a{}", number));
  }

  Frame& frame_;
  const TracedThread& traced_;
  int64_t step_;
  std::optional<int64_t> goal_;
};

// Without the bits of what is shown as a number: they do not fit after a line.
std::string ShortValue(uint64_t bits, uint8_t bytes, std::string_view type) {
  std::string text = ptx::ValueText(bits, bytes, type);
  if (!text.starts_with("0x")) text.erase(std::min(text.find(" (0x"), text.size()));
  return text;
}

// What the step makes, else what it reads: "%f3 = 1.5".
std::string MadeText(const TracedThread& traced, int64_t step) {
  const TracedInstruction& in = traced.InstructionOf(step);
  const auto values = traced.trace.ValuesOf(traced.thread(), traced.thread().at(step));
  std::string made, read;
  for (size_t i = 0; i < in.operands.size(); ++i) {
    const TracedOperand& operand = in.operands[i];
    if (operand.kind == TracedOperand::Kind::kConstant) continue;
    std::string& out = operand.written || in.Makes(i) ? made : read;
    out += (out.empty() ? "" : ", ") + operand.name + " = " +
           ShortValue(values[i].bits, operand.bytes, in.type);
  }
  return made.empty() ? read : made;
}

}  // namespace

std::optional<int64_t> DrawThreadStep(Frame& frame, const TracedThread& traced, int64_t step,
                                      std::string& picked) {
  // The steps below have room, too.
  const float most = std::max(0.6F * ImGui::GetContentRegionAvail().y, ImGui::GetFrameHeight());
  ImGui::SetNextWindowSizeConstraints(ImVec2(0, 0), ImVec2(FLT_MAX, most));
  ImGui::BeginChild("##step", ImVec2(0, 0), ImGuiChildFlags_AutoResizeY);
  const auto goal = StepPainter(frame, traced, step).Draw(picked);
  ImGui::EndChild();
  return goal;
}

std::optional<int64_t> DrawThreadSteps(Frame& frame, const TracedThread& traced, int64_t step,
                                       bool reveal) {
  const ThreadTrace& thread = traced.thread();
  std::optional<int64_t> clicked;
  ImGui::BeginChild("##steps", ImGui::GetContentRegionAvail());
  ImGui::PushFont(frame.mono, 0);
  const float height = ImGui::GetTextLineHeightWithSpacing();
  if (reveal) {
    const float at = static_cast<float>(step - thread.first) * height;
    const float top = ImGui::GetScrollY(), room = ImGui::GetWindowHeight();
    if (at < top || at + height > top + room) ImGui::SetScrollY(std::max(0.0F, at - room / 3));
  }
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(thread.steps.size()), height);
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      const int64_t at = thread.first + i;
      const TracedInstruction& in = traced.InstructionOf(at);
      const std::string text = fmt::format("{:>5}  line {:<4} {}", at, in.line, in.text);
      if (Choice(text, fmt::format("s{}", i), at == step)) clicked = at;
    }
  }
  ImGui::PopFont();
  ImGui::EndChild();
  return clicked;
}

std::vector<TextNote> NotesOfLine(const TracedThread& traced, int64_t step, uint32_t line) {
  const auto found = traced.steps_of.find(line);
  if (found == traced.steps_of.end()) return {};
  const auto behind = std::ranges::upper_bound(found->second, step);
  if (behind == found->second.begin()) return {};
  const int64_t last = *std::prev(behind);
  std::vector<TextNote> notes;
  if (const std::string& name = traced.ValueOf(last); !name.empty())
    notes.push_back({name, Color::kAccent});
  notes.push_back({MadeText(traced, last), last == step ? Color::kText : Color::kTextSecondary});
  return notes;
}

int64_t OriginOf(const TracedThread& traced, int64_t step) {
  const TracedStep& at = traced.thread().at(step);
  const auto& operands = traced.InstructionOf(step).operands;
  const auto values = traced.trace.ValuesOf(traced.thread(), at);
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool is_read = !operands[i].written && operands[i].kind == TracedOperand::Kind::kRegister;
    if (is_read && IsHere(traced, values[i].from)) return values[i].from.step;
  }
  for (const ptx::TracedAccess& access : traced.thread().AccessesOf(at)) {
    if (IsHere(traced, access.from)) return access.from.step;
  }
  return -1;
}

}  // namespace hloscope::viewer
