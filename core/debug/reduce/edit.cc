// Edits, and what has to follow from them in parameters and header.
#include "core/debug/reduce/edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/hlo/rewrite/copy_module.h"

namespace hloscope::debug {
namespace {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Literal;
using hlo::Opcode;
using hlo::Shape;

constexpr int64_t kMaxElementsWritten = 64;  // of a constant that stands for an instruction

Literal Zeros(const Shape& shape) {
  const auto bytes = static_cast<size_t>(shape.ByteSize().value_or(0));
  return Literal::Dense(shape, std::vector<std::byte>(bytes));
}

void DropStatements(hlo::ModuleHeader& header) {
  header.entry_layout.reset();
  header.input_output_alias.clear();
  header.buffer_donors.clear();
  header.alias_passthrough_params = false;
  header.allow_spmd_sharding_propagation_to_parameters.clear();
  header.allow_spmd_sharding_propagation_to_output.clear();
  header.spmd_output_sharding.reset();
}

}  // namespace

Edit::Edit(const Candidate& from) : from_(from), rewriter_(from.module) {
  const std::vector<InstructionId> ids = from.module->Parameters(from.module->entry_id());
  for (size_t i = 0; i < ids.size(); ++i) {
    parameters_.push_back({ids[i], i < from.arguments.size() ? from.arguments[i] : Literal()});
  }
}

void Edit::ToParameter(InstructionId id, const Literal* value) {
  const Shape shape = module().shape(id);
  std::vector<hlo::Attribute> attributes = {rewriter_.builder().MakeInt(
      AttributeKey::kParameterNumber, static_cast<int64_t>(parameters_.size()))};
  if (const hlo::Attribute* sharding = module().Find(id, AttributeKey::kSharding)) {
    attributes.push_back(*sharding);
  }
  const InstructionId parameter = rewriter_.Add(module().entry_id(), module().name(id),
                                                Opcode::kParameter, shape, {}, attributes);
  rewriter_.ReplaceAllUses(id, parameter);
  parameters_.push_back({parameter, value == nullptr ? Literal() : *value});
}

void Edit::ToZeros(InstructionId id) {
  const Shape& shape = module().shape(id);
  const hlo::ComputationId computation = module()[id].computation;
  const bool is_small = shape.ElementCount().value_or(kMaxElementsWritten) < kMaxElementsWritten;
  const Shape written = is_small ? shape : Shape::Scalar(shape.element_type());
  const std::array value = {rewriter_.builder().Make(AttributeKey::kConstantValue, Zeros(written))};
  InstructionId zeros =
      rewriter_.Add(computation, module().name(id), Opcode::kConstant, written, {}, value);
  if (!is_small) {
    const std::array dimensions = {rewriter_.builder().MakeInts(AttributeKey::kDimensions, {})};
    zeros = rewriter_.Add(computation, FreeName("zeros"), Opcode::kBroadcast, shape, {&zeros, 1},
                          dimensions);
  }
  rewriter_.ReplaceAllUses(id, zeros);
}

void Edit::SetResults(std::span<const InstructionId> results) {
  const hlo::ComputationId entry = module().entry_id();
  if (results.size() == 1) {
    rewriter_.SetRoot(entry, results[0]);
    return;
  }
  std::vector<Shape> shapes;
  for (const InstructionId id : results) shapes.push_back(module().shape(id));
  rewriter_.SetRoot(entry, rewriter_.Add(entry, FreeName("results"), Opcode::kTuple,
                                         Shape::Tuple(std::move(shapes)), results));
}

std::string Edit::FreeName(std::string_view name) {
  if (!names_known_) {
    for (const hlo::Instruction& i : module().instructions()) {
      names_.emplace_back(module()[i.name]);
    }
    std::ranges::sort(names_);
    names_known_ = true;
  }
  std::string free(name);
  for (int64_t n = 1; std::ranges::binary_search(names_, free); ++n) {
    free = fmt::format("{}.{}", name, n);
  }
  names_.insert(std::ranges::upper_bound(names_, free), free);
  return free;
}

void Edit::Inline(InstructionId call, hlo::ComputationId callee,
                  std::span<const InstructionId> operands) {
  const hlo::Computation& computation = module()[callee];
  const hlo::ComputationId caller = module()[call].computation;
  std::vector<InstructionId> copies(computation.instruction_count);
  const auto copy_of = [&](InstructionId id) {
    return copies[id.index - computation.first_instruction];
  };
  for (uint32_t i = 0; i < computation.instruction_count; ++i) {
    const InstructionId id(computation.first_instruction + i);
    const hlo::Instruction& old = module()[id];
    if (old.opcode == Opcode::kParameter) {
      const auto number = static_cast<size_t>(module().GetInt(old, AttributeKey::kParameterNumber));
      copies[i] = number < operands.size() ? operands[number] : call;
      continue;
    }
    std::vector<InstructionId> taken;
    for (const InstructionId operand : module().operands(id)) taken.push_back(copy_of(operand));
    std::vector<hlo::Attribute> attributes;
    for (const hlo::Attribute& a : module().attributes(old)) {
      if (a.key != AttributeKey::kControlPredecessors) attributes.push_back(a);
    }
    copies[i] = rewriter_.Add(caller, FreeName(module().name(id)), old.opcode, module().shape(id),
                              taken, attributes);
  }
  rewriter_.ReplaceAllUses(call, copy_of(computation.root));
}

// Parameters stay for RemoveDeadCode, which knows no arguments.
void Edit::RemoveUnusedParameters() {
  const InstructionId root = rewriter_.root(module().entry_id());
  std::erase_if(parameters_, [&](const Parameter& p) {
    if (rewriter_.removed(p.id)) return true;
    if (p.id == root || !rewriter_.users(p.id).empty()) return false;
    rewriter_.Remove(p.id);
    return true;
  });
}

std::shared_ptr<const hlo::Module> Edit::Renumber(const hlo::RewriteResult& result) const {
  const hlo::Module& old = module();
  const InstructionId old_root = old.entry().root;
  const bool same_root = result.new_id[old_root.index] == result.module->entry().root;
  bool same_parameters = parameters_.size() == from_.arguments.size();
  for (size_t i = 0; i < parameters_.size(); ++i) {
    same_parameters &= parameters_[i].id.index < old.instructions().size() &&
                       old.GetInt(old[parameters_[i].id], AttributeKey::kParameterNumber) ==
                           static_cast<int64_t>(i);
  }
  if (same_root && same_parameters) return result.module;
  hlo::ModuleBuilder builder = hlo::CopyModule(*result.module);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    builder.SetAttribute(result.new_id[parameters_[i].id.index],
                         builder.MakeInt(AttributeKey::kParameterNumber, static_cast<int64_t>(i)));
  }
  std::optional<hlo::EntryLayout> layout = old.header().entry_layout;
  DropStatements(builder.header());
  if (layout && layout->parameters.size() == old.Parameters(old.entry_id()).size()) {
    hlo::EntryLayout fitted;
    for (const Parameter& p : parameters_) {
      const InstructionId id = result.new_id[p.id.index];
      const bool is_old = p.id.index < old.instructions().size();
      const auto number =
          is_old ? static_cast<size_t>(old.GetInt(old[p.id], AttributeKey::kParameterNumber)) : 0;
      fitted.parameters.push_back(is_old ? layout->parameters[number] : (*result.module)[id].shape);
    }
    fitted.result =
        same_root ? layout->result : (*result.module)[result.module->entry().root].shape;
    builder.header().entry_layout = fitted;
  }
  return builder.Build();
}

std::optional<Candidate> Edit::Finish() {
  rewriter_.RemoveDeadCode();
  RemoveUnusedParameters();
  const Result<hlo::RewriteResult> result = rewriter_.Finish();
  if (!result.has_value()) return std::nullopt;
  Candidate candidate;
  candidate.module = Renumber(*result);
  for (Parameter& p : parameters_) candidate.arguments.push_back(std::move(p.value));
  return candidate;
}

std::shared_ptr<const hlo::Module> WithEntry(const hlo::Module& module, hlo::ComputationId entry) {
  hlo::ModuleBuilder builder = hlo::CopyModule(module);
  builder.SetEntry(entry);
  DropStatements(builder.header());
  return builder.Build();
}

}  // namespace hloscope::debug
