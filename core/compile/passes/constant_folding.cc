// Constant folding: what depends on constants alone is computed once, by the evaluator.
#include <algorithm>
#include <vector>

#include "core/compile/passes/edit.h"
#include "core/eval/machine/evaluator.h"
#include "core/hlo/opcode_table.h"
#include "core/hlo/rewrite/module_copier.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Literal;
using hlo::Module;
using hlo::Opcode;

namespace {

// Elements that are worth computing: of one instruction, and of a module.
constexpr int64_t kMaxElements = int64_t{1} << 16, kMaxOfModule = int64_t{1} << 21;
// A constant of that size is read as fast as it is computed.
constexpr int64_t kFewBytes = 4096;

bool IsFolded(Opcode opcode) {
  static constexpr hlo::OpcodeSet kMovements = {
      Opcode::kBroadcast, Opcode::kConcatenate, Opcode::kDynamicSlice, Opcode::kDynamicUpdateSlice,
      Opcode::kIota,      Opcode::kPad,         Opcode::kReduce,       Opcode::kReshape,
      Opcode::kReverse,   Opcode::kSlice,       Opcode::kTranspose};
  if (opcode == Opcode::kMap || opcode == Opcode::kStochasticConvert) return false;
  return kMovements.Has(opcode) || Info(opcode).category == hlo::Category::kElementwise;
}

// These make many elements of few, or out of nothing, wherever they are needed.
bool IsFree(Opcode opcode) {
  return opcode == Opcode::kConstant || opcode == Opcode::kBroadcast || opcode == Opcode::kIota;
}

class Folder {
 public:
  explicit Folder(const std::shared_ptr<const Module>& module)
      : module_(*module), edit_(module), facts_(module->instructions().size()) {}

  Result<PassResult> Run() {
    std::vector<uint8_t> state;
    for (uint32_t c = 0; c < module_.computations().size(); ++c) {
      HLOSCOPE_ASSIGN_OR_RETURN(const auto order, edit_.rewriter().Order(ComputationId(c), state));
      for (const InstructionId id : order) Look(id);
    }
    for (const InstructionId id : known_) {
      if (IsWanted(id)) targets_.push_back(id);
    }
    if (targets_.empty()) return PassResult{};
    HLOSCOPE_ASSIGN_OR_RETURN(const std::vector<Literal> values, Evaluated());
    for (size_t i = 0; i < targets_.size(); ++i) Put(targets_[i], values[i]);
    return edit_.Finish();
  }

 private:
  struct Fact {
    bool is_known = false;
    bool is_equal = false;       // all elements are, whatever they are
    bool is_needed = false;      // to compute a target
    int64_t constant_bytes = 0;  // that it is made of
  };

  Fact& FactOf(InstructionId id) { return facts_[id.index]; }
  int64_t Elements(InstructionId id) const {
    const hlo::Shape& shape = module_.shape(id);
    if (!shape.IsArray() || !shape.is_static()) return kMaxElements + 1;
    return shape.ElementCount().value_or(kMaxElements + 1);
  }

  void LookAtConstant(InstructionId id) {
    const auto* literal = module_.Get<Literal>(module_[id], AttributeKey::kConstantValue);
    Fact& fact = FactOf(id);
    fact.is_known = literal != nullptr && !literal->elided() && Elements(id) <= kMaxElements;
    if (!fact.is_known) return;
    fact.is_equal = Elements(id) == 1;
    fact.constant_bytes = std::ssize(literal->bytes());
    known_.push_back(id);
  }

  void Look(InstructionId id) {
    const Opcode opcode = module_[id].opcode;
    if (opcode == Opcode::kConstant) return LookAtConstant(id);
    if (!IsFolded(opcode) || edit_.IsPinned(id)) return;
    Fact fact{.is_known = true, .is_equal = opcode != Opcode::kIota};
    int64_t elements = Elements(id);
    if (elements > kMaxElements) return;
    for (const InstructionId operand : module_.operands(id)) {
      const Fact& of = FactOf(operand);
      if (!of.is_known) return;
      fact.is_equal &= of.is_equal;
      fact.constant_bytes += of.constant_bytes;
      elements += Elements(operand);
    }
    fact.is_equal &= opcode != Opcode::kPad && opcode != Opcode::kConcatenate &&
                     opcode != Opcode::kDynamicUpdateSlice;
    elements_ += elements;
    if (elements_ > kMaxOfModule) return;
    FactOf(id) = fact;
    known_.push_back(id);
  }

  // Its value is needed where it is not known, and a constant is no worse than what it is.
  bool IsWanted(InstructionId id) {
    const Fact& fact = FactOf(id);
    if (!fact.is_known || IsFree(module_[id].opcode)) return false;
    if (fact.is_equal && Elements(id) > 1) return false;
    const auto bytes = module_.shape(id).ByteSize();
    if (!bytes || *bytes > std::max(kFewBytes, fact.constant_bytes)) return false;
    const hlo::Rewriter& rewriter = edit_.rewriter();
    return rewriter.root(rewriter.computation(id)) == id ||
           std::ranges::any_of(rewriter.users(id),
                               [&](InstructionId user) { return !FactOf(user).is_known; });
  }

  // What the targets are made of, in order.
  std::vector<InstructionId> Needed() {
    for (const InstructionId id : targets_) FactOf(id).is_needed = true;
    std::vector<InstructionId> needed;
    for (size_t k = known_.size(); k-- > 0;) {
      if (!FactOf(known_[k]).is_needed) continue;
      needed.push_back(known_[k]);
      for (const InstructionId operand : module_.operands(known_[k])) {
        FactOf(operand).is_needed = true;
      }
    }
    std::ranges::reverse(needed);
    return needed;
  }

  // The values of the targets, by a module of nothing else.
  Result<std::vector<Literal>> Evaluated() {
    const std::vector<InstructionId> needed = Needed();
    hlo::ModuleBuilder builder;
    hlo::ModuleCopier copier(module_, builder);
    copier.DropMetadata();
    builder.header().name = builder.Intern("constants");
    copier.CopyCallees(needed);
    const ComputationId entry = builder.DeclareComputation(builder.Intern("entry"));
    builder.BeginComputation(entry);
    for (const InstructionId id : needed) {
      std::vector<InstructionId> operands;
      for (const InstructionId operand : module_.operands(id)) {
        operands.push_back(copier.new_id(operand));
      }
      copier.CopyInstruction(id, operands);
    }
    std::vector<InstructionId> roots;
    std::vector<hlo::Shape> shapes;
    for (const InstructionId id : targets_) {
      roots.push_back(copier.new_id(id));
      shapes.push_back(module_.shape(id));
    }
    builder.EndComputation(builder.AddInstruction(
        builder.Intern("all"), Opcode::kTuple,
        builder.InternShape(hlo::Shape::Tuple(std::move(shapes))), roots, {}));
    builder.SetEntry(entry);
    eval::EvaluateOptions options;
    options.threads = 1;
    HLOSCOPE_ASSIGN_OR_RETURN(const eval::Evaluation evaluation,
                              eval::Evaluate(*builder.Build(), {}, options));
    std::vector<Literal> values;
    for (const runtime::Value& value : evaluation.result.elements()) {
      HLOSCOPE_ASSIGN_OR_RETURN(Literal literal, value.ToLiteral());
      values.push_back(std::move(literal));
    }
    return values;
  }

  void Put(InstructionId target, const Literal& value) {
    const hlo::Shape shape = module_.shape(target);
    const auto bytes = value.bytes();
    const hlo::Attribute attribute = edit_.rewriter().builder().Make(
        AttributeKey::kConstantValue, Literal::Dense(shape, {bytes.begin(), bytes.end()}));
    const InstructionId constant =
        edit_.Add(target, "constant", Opcode::kConstant, shape, {}, {attribute});
    if (edit_.MayReplace(target, constant)) edit_.Replace(target, constant);
  }

  const Module& module_;
  Edit edit_;
  std::vector<Fact> facts_;
  int64_t elements_ = 0;
  std::vector<InstructionId> known_, targets_;  // operands before users
};

}  // namespace

Result<PassResult> FoldConstants(const std::shared_ptr<const Module>& module, Compilation&) {
  return Folder(module).Run();
}

}  // namespace hloscope::compile
