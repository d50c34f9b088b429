// The heat of one stage.
#include "viewer/graph/stage_heat.h"

#include <fmt/format.h>

#include "viewer/widgets/heat_ramp.h"

namespace hloscope::viewer {

std::shared_ptr<const HeatPaint> StageHeat::Find(Context& context, int32_t module, int32_t stage,
                                                 const std::shared_ptr<const hlo::Module>& text) {
  std::shared_ptr<const HeatFacts> facts = HeatInView(context);
  if (facts == nullptr || !facts->missing.empty() || facts->module != module || text == nullptr) {
    *this = {};
    return nullptr;
  }
  if (facts_ == facts && text_ == text && paint_ != nullptr) return paint_;
  facts_ = std::move(facts);
  text_ = text;
  paint_ = HeatPaintOf(context, stage, text_, facts_);
  return paint_;
}

uint32_t HeatFill(const Theme& theme, const HeatPaint& paint, hlo::InstructionId id) {
  const double place = id.valid() ? paint.facts().PlaceOf(paint.ValueOf(id)) : 0;
  return place > 0 ? HeatColor(theme, place) : 0;
}

std::string HeatSentence(const HeatPaint& paint, hlo::InstructionId id) {
  const double value = id.valid() ? paint.ValueOf(id) : 0;
  if (value <= 0) return {};
  return fmt::format("{}: {}", HeatRowOf(paint.facts().measure).title,
                     HeatText(paint.facts(), value));
}

}  // namespace hloscope::viewer
