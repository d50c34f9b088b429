// The steps of Adapt, and what they share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/backends/pjrt/adapt.h"
#include "core/hlo/module_builder.h"

namespace hloscope::replay::pjrt {

struct AdaptState {
  const RunOptions& options;
  std::shared_ptr<const hlo::Module>& module;
  Adapted& adapted;
  hlo::Topology topology;  // of the module as it was

  void Warn(std::string text) { adapted.warnings.push_back(std::move(text)); }
};

#define ADAPTATION(function) Status function(AdaptState& state);
#include "core/backends/pjrt/adaptations.def"
#undef ADAPTATION

// One instruction on its way into a rewritten module.
struct InstructionEdit {
  hlo::StringId name;
  hlo::Opcode opcode;
  hlo::Shape shape;
  std::vector<hlo::Attribute> attributes;
  hlo::ModuleBuilder& builder;  // makes attributes

  void Drop(hlo::AttributeKey key);
  void Set(hlo::Attribute attribute);
};

// Computations that come behind those of the module: declared before it is copied, defined after.
struct MoreComputations {
  std::function<void(hlo::ModuleBuilder&)> declare, define;
};

// The module with every instruction as `edit` leaves it; operands, order and names stay, and so do
// all ids. `edit_header` may change the header.
std::shared_ptr<const hlo::Module> EditModule(
    const hlo::Module& module,
    const std::function<void(hlo::InstructionId, InstructionEdit&)>& edit,
    const std::function<void(hlo::ModuleHeader&)>& edit_header = nullptr,
    const MoreComputations& more = {});

// "a", "a and b", "a, b, c and 4 more".
std::string ListSome(const std::vector<std::string>& names);

}  // namespace hloscope::replay::pjrt
