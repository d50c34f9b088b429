// Choosing inputs.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>

#include "viewer/divergence/divergence_outcome.h"
#include "viewer/lab/recorded_inputs.h"
#include "viewer/model/marks.h"
#include "viewer/model/requests.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

std::string EntryText(const RecordedInputs& inputs) {
  return fmt::format("{}: {}", SafeText(inputs.name, 60), SafeText(CoverageText(inputs), 120));
}

}  // namespace

const RecordedInputsList* InputsChoice::ListOf(Context& context, int32_t module, int32_t stage) {
  const Pending<RecordedInputsList>& list = RecordedInputsOf(context, module, stage);
  return list.ready() ? list.value.get() : nullptr;
}

// What the user named in the popup is chosen once.
void InputsChoice::TakeFile(Context& context) {
  const std::string& named = context.marks.Of<ChosenInputs>().path;
  if (named == file_) return;
  file_ = named;
  if (!named.empty()) path_ = named;
}

const RecordedInputs* InputsChoice::Chosen(Context& context, int32_t module, int32_t stage) {
  TakeFile(context);
  if (path_ && path_->empty()) return nullptr;
  const RecordedInputsList* list = ListOf(context, module, stage);
  if (list == nullptr) return nullptr;
  if (!path_) return !list->empty() && list->front().fits() ? &list->front() : nullptr;
  const auto known = std::ranges::find(*list, *path_, &RecordedInputs::path);
  if (known != list->end()) return &*known;
  if (*path_ != file_) return nullptr;  // of a module that was in view before
  const Pending<RecordedInputs>& own = ChosenInputsOf(context, module, stage, file_);
  return own.ready() ? own.value.get() : nullptr;
}

bool InputsChoice::IsKnown(Context& context, int32_t module, int32_t stage) {
  TakeFile(context);
  if (RecordedInputsOf(context, module, stage).waiting()) return false;
  return !path_ || path_->empty() || *path_ != file_ ||
         !ChosenInputsOf(context, module, stage, file_).waiting();
}

std::string InputsChoice::PathOf(Context& context, int32_t module, int32_t stage) {
  const RecordedInputs* chosen = Chosen(context, module, stage);
  return chosen == nullptr ? std::string() : chosen->path;
}

std::string InputsChoice::Text(Context& context, int32_t module, int32_t stage) {
  if (!IsKnown(context, module, stage)) return "finding recorded inputs …";
  const RecordedInputs* chosen = Chosen(context, module, stage);
  return chosen == nullptr ? fmt::format("generated from seed {}", seed_) : EntryText(*chosen);
}

void InputsChoice::Draw(Frame& frame, int32_t module, int32_t stage) {
  Context& context = frame.context;
  const RecordedInputs* chosen = Chosen(context, module, stage);
  const bool is_generated = IsKnown(context, module, stage) && chosen == nullptr;
  const float seed = is_generated ? 190 * frame.scale : 0;
  ImGui::SetNextItemWidth(
      std::clamp(ImGui::GetContentRegionAvail().x - seed, 120 * frame.scale, 460 * frame.scale));
  const std::string shown = Text(context, module, stage);
  if (ImGui::BeginCombo("##inputs", shown.c_str(), ImGuiComboFlags_HeightLarge)) {
    DrawList(frame, module, stage, chosen);
    ImGui::EndCombo();
  }
  ImGui::SetItemTooltip("inputs of the run: %s", shown.c_str());
  if (is_generated) {
    ImGui::SameLine(0, 16 * frame.scale);
    ImGui::AlignTextToFramePadding();
    Label(frame.theme, Color::kTextSecondary, "seed");
    ImGui::SameLine();
    ImGui::SetNextItemWidth(110 * frame.scale);
    ImGui::InputInt("##seed", &seed_, 1);
    Help("seed of the generated inputs");
    seed_ = std::max(seed_, 0);
  }
  if (chosen == nullptr || chosen->fits()) return;
  ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kWarning]);
  ImGui::TextWrapped("%s", SafeText(EntryText(*chosen), 300).c_str());
  ImGui::PopStyleColor();
}

void InputsChoice::DrawList(Frame& frame, int32_t module, int32_t stage,
                            const RecordedInputs* chosen) {
  const RecordedInputsList* list = ListOf(frame.context, module, stage);
  Label(frame.theme, Color::kTextSecondary,
        list == nullptr ? "finding recorded inputs …"
        : list->empty() ? "recorded: none found for this module"
                        : "recorded");
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const RecordedInputs& each = (*list)[i];
    const std::string label = fmt::format("{}##recorded{}", EntryText(each), i);
    if (ImGui::Selectable(label.c_str(), &each == chosen)) path_ = each.path;
    ImGui::SetItemTooltip("%s", SafeText(each.what + ": " + each.path, 400).c_str());
  }
  Label(frame.theme, Color::kTextSecondary, "generated");
  const std::string generated = fmt::format("generated from seed {}##generated", seed_);
  if (ImGui::Selectable(generated.c_str(), chosen == nullptr)) path_ = "";
  ImGui::SetItemTooltip(
      "random values within the constraints that the module puts on its parameters");
  ImGui::Separator();
  if (ImGui::Selectable("choose a file …")) frame.context.requests.Run(Command::kChooseInputs);
  ImGui::SetItemTooltip("an .npz, a snapshot, a bundle, or a folder with input_N.npy");
}

}  // namespace hloscope::viewer
