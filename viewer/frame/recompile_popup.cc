#include "viewer/frame/recompile_popup.h"

#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>

#include "core/replay/gpu_targets.h"
#include "viewer/model/document.h"
#include "viewer/model/navigation.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {

bool RecompilePopup::Draw(Frame& frame, const std::string& flags, bool entered) {
  Context& context = frame.context;
  const int32_t module = context.navigation.module();
  if (!context.document.dump().ready() || module < 0) {
    Sentence(frame, "no module is open");
    return false;
  }
  if (platforms_.empty()) {
    platforms_ = debug::DumpingCompilers();
    choice_.platform = platforms_.front().name;
  }
  const dump::ModuleEntry& entry = context.document.dump()->modules()[static_cast<size_t>(module)];
  if (entry.stages.empty()) {
    Sentence(frame, "no stage of this module was dumped as HLO");
    return false;
  }
  Fact(frame, "module", entry.name + ", " + entry.stages.front().name);
  DrawPlatforms(frame);
  DrawTargets(frame);
  const auto chosen =
      std::ranges::find(platforms_, choice_.platform, &debug::DumpingCompiler::name);
  const bool needs_target = chosen->has_targets && choice_.target.empty();
  ImGui::BeginDisabled(needs_target);
  ImGui::PushStyleColor(ImGuiCol_Button, frame.theme[Color::kCanvas]);
  const bool pressed = ImGui::Button("Recompile");
  ImGui::PopStyleColor();
  ImGui::EndDisabled();
  Help(needs_target ? "select a device first"
                    : "compile in a child process; the result opens as the second dump\nEnter");
  if ((!pressed && !entered) || needs_target) return false;
  choice_.flags = flags;
  RecompileAsSecond(context, module, choice_);
  return true;
}

void RecompilePopup::DrawPlatforms(Frame& frame) {
  ImGui::AlignTextToFramePadding();
  Label(frame.theme, Color::kTextSecondary, "compiler");
  for (const debug::DumpingCompiler& platform : platforms_) {
    ImGui::SameLine(0, 16 * frame.scale);
    ImGui::BeginDisabled(!platform.is_here);
    if (ImGui::RadioButton(platform.name.c_str(), choice_.platform == platform.name))
      choice_.platform = platform.name;
    ImGui::EndDisabled();
    Help(!platform.is_here       ? "not installed here; `hloscope doctor` says what it needs"
         : !platform.takes_flags ? "our own compiler; of flags it reads --xla_disable_hlo_passes"
                                 : "this XLA, with the flags above");
  }
}

void RecompilePopup::DrawTargets(Frame& frame) {
  const auto chosen =
      std::ranges::find(platforms_, choice_.platform, &debug::DumpingCompiler::name);
  if (!chosen->has_targets) {
    choice_.target.clear();
    return;
  }
  ImGui::AlignTextToFramePadding();
  Label(frame.theme, Color::kTextSecondary, "device");
  for (const std::string& target : replay::GpuTargetNames()) {
    SameLineIfRoom(ButtonWidth(target.c_str()) + 2 * ImGui::GetFrameHeight());
    if (ImGui::RadioButton(target.c_str(), choice_.target == target)) choice_.target = target;
    Help("compile for this device, which need not be present");
  }
}

}  // namespace hloscope::viewer
