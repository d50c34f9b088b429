// Fuse: plans the kernels of every computation that runs and writes them as fusions.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/compile/fusion/kernel_plan.h"
#include "core/compile/kernel_rules.h"
#include "core/compile/passes/edit.h"
#include "core/compile/run_computations.h"

namespace hloscope::compile {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

// As many opcodes as the name of a fusion has.
constexpr size_t kMaxInName = 4;

class FusionWriter {
 public:
  explicit FusionWriter(const std::shared_ptr<const Module>& module)
      : module_(*module),
        edit_(module),
        slots_(module->instructions().size()),
        parameters_(slots_.size()),
        is_noted_(slots_.size()),
        now_(slots_.size()) {
    for (const hlo::Computation& c : module_.computations()) names_.emplace(module_[c.name]);
  }

  void Write(const KernelGroup& group) {
    if (group.roots.size() + group.members.size() < 2) return;
    const InstructionId first = group.roots.front();
    const std::string name = NameOf(group);
    body_ = edit_.rewriter().AddComputation(ComputationName(name), module_[first].computation);
    operands_.clear();
    ++group_;
    std::vector<InstructionId> all = group.members;
    all.insert(all.end(), group.roots.begin(), group.roots.end());
    std::ranges::sort(all);
    for (const InstructionId id : all) slots_[id.index] = {group_, CopyIn(id)};
    WriteFusion(group, name);
  }

  Result<PassResult> Finish() { return edit_.Finish(); }

 private:
  struct Slot {
    uint32_t group = 0;  // the fusion it is of
    InstructionId inside;
  };

  static bool IsReduce(const Module& module, InstructionId id) {
    return module[id].opcode == Opcode::kReduce;
  }

  // input_exponential_reduce_fusion: the last opcodes that compute something.
  std::string NameOf(const KernelGroup& group) const {
    std::vector<InstructionId> all = group.members;
    all.insert(all.end(), group.roots.begin(), group.roots.end());
    std::ranges::sort(all);
    std::vector<std::string> words;
    for (size_t k = all.size(); k-- > 0 && words.size() < kMaxInName;) {
      const Opcode opcode = module_[all[k]].opcode;
      if (opcode == Opcode::kBroadcast && !words.empty()) continue;
      std::string word(ToString(opcode));
      std::ranges::replace(word, '-', '_');
      if (std::ranges::find(words, word) == words.end()) words.insert(words.begin(), word);
    }
    std::string name = IsReduce(module_, group.roots[0]) ? "input" : "loop";
    for (const std::string& word : words) name += "_" + word;
    return name + "_fusion";
  }

  std::string ComputationName(const std::string& fusion) {
    const std::string wanted = "fused_" + fusion.substr(0, fusion.size() - 7);
    std::string name = wanted;
    while (!names_.insert(name).second) name = fmt::format("{}.{}", wanted, ++numbers_[wanted]);
    return name;
  }

  InstructionId AddIn(std::string_view name, Opcode opcode, const Shape& shape,
                      std::span<const InstructionId> operands,
                      std::span<const Attribute> attributes) {
    return edit_.rewriter().Add(body_, edit_.UniqueName(name), opcode, shape, operands, attributes);
  }

  InstructionId Parameter(InstructionId outside) {
    Slot& parameter = parameters_[outside.index];
    if (parameter.group == group_) return parameter.inside;
    const auto number = static_cast<int64_t>(operands_.size());
    const InstructionId now = now_[outside.index];
    operands_.push_back(now.valid() ? now : outside);
    const Attribute attribute =
        edit_.rewriter().builder().MakeInt(AttributeKey::kParameterNumber, number);
    const InstructionId id = AddIn(fmt::format("param_{}", number), Opcode::kParameter,
                                   module_.shape(outside), {}, std::span(&attribute, 1));
    edit_.NoteOrigin(id, outside, hlo::OriginKind::kParameter);
    parameter = {group_, id};
    return id;
  }

  InstructionId OperandIn(InstructionId user, size_t slot) {
    const InstructionId operand = module_.operands(user)[slot];
    if (slot < UpdatedOperands(module_, user)) return Parameter(operand);
    // Operands come first, so those of the kernel have been copied.
    if (slots_[operand.index].group == group_) return slots_[operand.index].inside;
    if (module_[operand].opcode != Opcode::kConstant || !IsElemental(module_, operand)) {
      return Parameter(operand);
    }
    slots_[operand.index] = {
        group_, AddIn(module_.name(operand), Opcode::kConstant, module_.shape(operand), {},
                      module_.attributes(module_[operand]))};
    edit_.NoteOrigin(slots_[operand.index].inside, operand, hlo::OriginKind::kCopied);
    return slots_[operand.index].inside;
  }

  InstructionId CopyIn(InstructionId id) {
    std::vector<InstructionId> operands;
    for (size_t slot = 0; slot < module_.operands(id).size(); ++slot) {
      operands.push_back(OperandIn(id, slot));
    }
    const InstructionId copy = AddIn(module_.name(id), module_[id].opcode, module_.shape(id),
                                     operands, module_.attributes(module_[id]));
    edit_.NoteOrigin(copy, id, hlo::OriginKind::kCopied);
    if (!is_noted_[id.index]) edit_.NoteSameValue(id, copy);
    is_noted_[id.index] = true;
    return copy;
  }

  void Replace(InstructionId root, InstructionId result) {
    edit_.Replace(root, result);
    now_[root.index] = result;
  }

  void WriteFusion(const KernelGroup& group, const std::string& name) {
    hlo::Rewriter& rewriter = edit_.rewriter();
    const InstructionId last = group.roots.back();
    const hlo::FusionKind kind =
        IsReduce(module_, last) ? hlo::FusionKind::kInput : hlo::FusionKind::kLoop;
    const std::vector<Attribute> attributes = {
        rewriter.builder().MakeEnum(AttributeKey::kFusionKind, static_cast<int32_t>(kind)),
        rewriter.builder().MakeComputation(AttributeKey::kCalls, body_)};
    if (group.roots.size() == 1) {
      rewriter.SetRoot(body_, slots_[last.index].inside);
      const InstructionId fusion =
          edit_.Add(last, name, Opcode::kFusion, module_.shape(last), operands_, attributes);
      edit_.NoteOrigin(fusion, last, hlo::OriginKind::kResult);
      Replace(last, fusion);
      return;
    }
    std::vector<InstructionId> results;
    std::vector<Shape> shapes;
    for (const InstructionId root : group.roots) {
      results.push_back(slots_[root.index].inside);
      shapes.push_back(module_.shape(root));
    }
    const Shape shape = Shape::Tuple(shapes);
    const InstructionId tuple = AddIn("tuple", Opcode::kTuple, shape, results, {});
    rewriter.SetRoot(body_, tuple);
    const InstructionId fusion =
        edit_.Add(last, name, Opcode::kFusion, shape, operands_, attributes);
    for (size_t k = 0; k < group.roots.size(); ++k) {
      edit_.NoteOrigin(fusion, group.roots[k], hlo::OriginKind::kResult);
      edit_.NoteOrigin(tuple, group.roots[k], hlo::OriginKind::kMade);
      const Attribute index =
          rewriter.builder().MakeInt(AttributeKey::kIndex, static_cast<int64_t>(k));
      Replace(group.roots[k],
              edit_.Add(group.roots[k], "get-tuple-element", Opcode::kGetTupleElement,
                        module_.shape(group.roots[k]), {fusion}, {index}));
    }
  }

  const Module& module_;
  Edit edit_;
  std::unordered_set<std::string> names_;  // of computations
  std::unordered_map<std::string, uint32_t> numbers_;
  // By instruction.
  std::vector<Slot> slots_, parameters_;  // its copy, or its parameter, in the fusion being written
  std::vector<bool> is_noted_;
  std::vector<InstructionId> now_;  // of roots that were written
  // Of the fusion being written.
  uint32_t group_ = 0;
  ComputationId body_;
  std::vector<InstructionId> operands_;
};

}  // namespace

Result<PassResult> Fuse(const std::shared_ptr<const Module>& module, Compilation& out) {
  FusionWriter writer(module);
  const std::vector<bool> runs = RunComputations(*module);
  for (uint32_t c = 0; c < runs.size(); ++c) {
    if (!runs[c]) continue;
    KernelPlan plan = PlanKernels(*module, ComputationId(c), out.gpu_kernels);
    out.decisions.insert(out.decisions.end(), std::make_move_iterator(plan.decisions.begin()),
                         std::make_move_iterator(plan.decisions.end()));
    for (const KernelGroup& group : plan.groups) writer.Write(group);
  }
  return writer.Finish();
}

}  // namespace hloscope::compile
