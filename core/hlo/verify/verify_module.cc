// The module header against the entry computation: layouts, input/output aliases, buffer donors,
// stack frames.
#include <set>

#include "core/base/counted.h"
#include "core/hlo/verify/verify_context.h"
#include "core/hlo/verify/verify_layout.h"

namespace hloscope::hlo {
namespace {

using std::to_string;

constexpr unsigned kEntryLayoutIgnore = kIgnoreTiles | kIgnoreTailPadding | kIgnoreMemorySpace;

void CheckEntryShape(VerifyContext& context, InstructionId at, const Shape& declared,
                     const std::string& what) {
  const Shape& actual = context.module().shape(at);
  if (!SameShape(actual, declared)) {
    context.Error(at, "entry-layout",
                  what + " " + context.Name(at) + " is " + context.Text(actual) +
                      ", but entry_computation_layout says " + context.Text(declared));
  } else if (!SameLayout(actual, declared, kEntryLayoutIgnore)) {
    context.Strict(at, "layout",
                   what + " " + context.Name(at) + " is " + context.Text(actual, true) +
                       ", but entry_computation_layout says " + context.Text(declared, true));
  }
}

void CheckEntryLayout(VerifyContext& context) {
  const Module& module = context.module();
  const auto& layout = module.header().entry_layout;
  if (!layout.has_value()) return;
  auto parameters = context.parameters(module.entry_id());
  InstructionId root = module.entry().root;
  bool exists = layout->result.index < module.shape_count();
  for (ShapeId shape : layout->parameters) exists &= shape.index < module.shape_count();
  if (!exists) {
    context.ModuleError("entry-layout", "entry_computation_layout lacks a shape");
    return;
  }
  constexpr uint8_t kBad = kShapeBadLayout | kShapeBadDimension | kShapeOverflow;
  bool bad = (context.shape_facts(layout->result) & kBad) != 0;
  for (ShapeId shape : layout->parameters) bad |= (context.shape_facts(shape) & kBad) != 0;
  if (bad) context.ModuleError("entry-layout", "entry_computation_layout has an invalid shape");
  CheckEntryShape(context, root, module[layout->result], "the entry's root");
  if (parameters.size() != layout->parameters.size()) {
    context.Error(root, "entry-layout",
                  "the entry has " + Counted(parameters.size(), "parameter") +
                      ", but entry_computation_layout has " + to_string(layout->parameters.size()));
    return;
  }
  for (size_t p = 0; p < parameters.size(); ++p) {
    CheckEntryShape(context, parameters[p], module[layout->parameters[p]],
                    "entry parameter " + to_string(p));
  }
}

const Shape& ResultOf(const Module& module) {
  const auto& layout = module.header().entry_layout;
  return layout.has_value() ? module[layout->result] : module.shape(module.entry().root);
}
const Shape& ParameterOf(const VerifyContext& context, size_t p) {
  const auto& layout = context.module().header().entry_layout;
  if (layout.has_value() && p < layout->parameters.size()) {
    return context.module()[layout->parameters[p]];
  }
  return context.parameter_shape(context.module().entry_id(), p);
}

using ParameterPart = std::pair<int64_t, std::vector<int64_t>>;

std::string PartText(const ParameterPart& part) {
  return "parameter " + to_string(part.first) + " at " + IndexText(part.second);
}

// The array a parameter index names; null and a finding where there is none.
const Shape* CheckParameterPart(VerifyContext& context, const ParameterPart& part,
                                const std::string& what) {
  size_t count = context.parameter_count(context.module().entry_id());
  if (part.first < 0 || static_cast<size_t>(part.first) >= count) {
    context.ModuleError("alias", what + " names parameter " + to_string(part.first) +
                                     ", but the entry has " + Counted(count, "parameter"));
    return nullptr;
  }
  const Shape& whole =
      context.parameter_shape(context.module().entry_id(), static_cast<size_t>(part.first));
  const Shape* shape = Subshape(whole, part.second);
  if (shape == nullptr) {
    context.ModuleError("alias", what + " names " + PartText(part) + ", which is not part of " +
                                     context.Text(whole));
  } else if (!shape->IsArray()) {
    context.ModuleError("alias", what + " names " + PartText(part) + ", which is " +
                                     context.Text(*shape) + ", expected an array");
    return nullptr;
  }
  return shape;
}

void CheckAlias(VerifyContext& context, const InputOutputAlias& alias) {
  const Module& module = context.module();
  const Shape& root = module.shape(module.entry().root);
  const Shape* output = Subshape(root, alias.output_index);
  std::string what = "input_output_alias of output " + IndexText(alias.output_index);
  if (output == nullptr || !output->IsArray()) {
    context.ModuleError("alias",
                        what + ": the result " + context.Text(root) + " has no array there");
    return;
  }
  ParameterPart part{alias.parameter, alias.parameter_index};
  const Shape* input = CheckParameterPart(context, part, what);
  if (input == nullptr) return;
  if (input->ByteSize() != output->ByteSize()) {
    context.Strict(module.entry().root, "alias",
                   what + ": " + context.Text(*output) + " and " + PartText(part) + ", " +
                       context.Text(*input) + ", have different sizes");
  }
  if (!alias.must_alias) return;
  const Shape* result = Subshape(ResultOf(module), alias.output_index);
  const Shape* parameter =
      Subshape(ParameterOf(context, static_cast<size_t>(alias.parameter)), alias.parameter_index);
  if (result == nullptr || parameter == nullptr) return;
  if (!Compatible(*result, *parameter) || !SameLayout(*result, *parameter)) {
    context.ModuleError("alias", what + " must alias " + PartText(part) + ", but is " +
                                     context.Text(*result, true) + " and that is " +
                                     context.Text(*parameter, true));
  }
}

void CheckAliases(VerifyContext& context) {
  std::set<ParameterPart> aliased;
  std::set<std::vector<int64_t>> outputs;
  for (const InputOutputAlias& alias : context.module().header().input_output_alias) {
    if (context.full()) return;
    CheckAlias(context, alias);
    ParameterPart part{alias.parameter, alias.parameter_index};
    if (!aliased.insert(part).second) {
      context.ModuleError("alias", "two outputs alias " + PartText(part));
    }
    if (!outputs.insert(alias.output_index).second) {
      context.ModuleError("alias", "output " + IndexText(alias.output_index) + " is aliased twice");
    }
  }
  std::set<ParameterPart> donors;
  for (const BufferDonor& donor : context.module().header().buffer_donors) {
    if (context.full()) return;
    ParameterPart part{donor.parameter, donor.parameter_index};
    CheckParameterPart(context, part, "buffer_donor");
    if (aliased.contains(part)) {
      context.ModuleError("alias",
                          PartText(part) + " is in both buffer_donor and input_output_alias");
    }
    if (!donors.insert(part).second) {
      context.ModuleError("alias", PartText(part) + " is donated twice");
    }
  }
}

// Ids count from 1; a frame's parent has to come to an end.
void CheckStackFrames(VerifyContext& context) {
  const StackFrames& frames = context.module().header().stack_frames;
  auto bad = [](int32_t id, size_t size) { return id < 0 || static_cast<size_t>(id) > size; };
  for (size_t f = 0; f < frames.locations.size(); ++f) {
    const auto& location = frames.locations[f];
    if (!bad(location.file_name_id, frames.file_names.size()) &&
        !bad(location.function_name_id, frames.function_names.size())) {
      continue;
    }
    context.StrictAt(Diagnostic::kNoOffset, InstructionId(0u), "stack-frame",
                     "file location " + to_string(f + 1) +
                         " names a file or function that is "
                         "not in the tables");
    return;
  }
  for (size_t f = 0; f < frames.frames.size(); ++f) {
    const auto& frame = frames.frames[f];
    bool later = frame.parent_frame_id > static_cast<int64_t>(f);
    if (!bad(frame.file_location_id, frames.locations.size()) &&
        !bad(frame.parent_frame_id, frames.frames.size()) && !later) {
      continue;
    }
    context.StrictAt(Diagnostic::kNoOffset, InstructionId(0u), "stack-frame",
                     "stack frame " + to_string(f + 1) +
                         " names a location or parent that is not in the tables above it");
    return;
  }
}

void CheckPropagationFlags(VerifyContext& context, const std::vector<bool>& flags, size_t parts,
                           const std::string& what) {
  if (flags.size() <= 1 || flags.size() == parts) return;
  context.StrictAt(Diagnostic::kNoOffset, InstructionId(0u), "sharding",
                   "allow_spmd_sharding_propagation_to_" + what + " has " +
                       to_string(flags.size()) + " entries for " + to_string(parts) + " " + what);
}

}  // namespace

void VerifyHeader(VerifyContext& context) {
  const Module& module = context.module();
  const ModuleHeader& header = module.header();
  if (header.replica_count < 1 || header.num_partitions < 1) {
    context.ModuleError("device-count", "replica_count is " + to_string(header.replica_count) +
                                            " and num_partitions " +
                                            to_string(header.num_partitions) +
                                            ", expected at least 1");
  }
  CheckEntryLayout(context);
  CheckAliases(context);
  CheckStackFrames(context);
  CheckPropagationFlags(context, header.allow_spmd_sharding_propagation_to_parameters,
                        context.parameter_count(module.entry_id()), "parameters");
  for (const RawAttribute& raw : header.unknown) {
    uint64_t offset = raw.offset == 0 ? Diagnostic::kNoOffset : raw.offset;
    context.StrictAt(offset, InstructionId(0u), "unknown-attribute",
                     "module attribute " + std::string(module[raw.name].substr(0, 100)) +
                         " is unknown and is kept as written");
  }
}

}  // namespace hloscope::hlo
