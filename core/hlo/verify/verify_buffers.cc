// Buffers, b(f32[4]): who may use them, and that each has at most one writer (XLA: VerifyBuffers).
#include <algorithm>
#include <set>

#include "core/hlo/opcode_table.h"
#include "core/hlo/verify/verify_context.h"
#include "core/hlo/verify/verify_layout.h"

namespace hloscope::hlo {
namespace {

using enum Opcode;
using Index = std::vector<int64_t>;

// Steps of following buffers through tuples, over the whole module.
constexpr size_t kMaxSteps = 2'000'000;

class BufferPass {
 public:
  explicit BufferPass(VerifyContext& context) : context_(context), module_(context.module()) {}

  void Check(InstructionId id) {
    const Instruction& i = module_[id];
    if (context_.IsAsync(i.computation)) {
      if (i.opcode == kCustomCall && context_.IsRoot(id)) CheckCustomCall(id);
      return;
    }
    static constexpr OpcodeSet kMayHold = {kAsyncStart, kAsyncUpdate, kAsyncDone, kGetTupleElement,
                                           kTuple};
    const bool is_stream =
        i.opcode == kCall && FrontendAttributeOf(module_, i, "_xla_stream_annotation");
    if (kMayHold.Has(i.opcode) || is_stream) return;
    if (i.opcode == kCustomCall) return CheckCustomCall(id);
    const bool is_inner = i.opcode == kParameter && i.computation != module_.entry_id();
    if (i.opcode != kWhile && !is_inner) CheckNoBuffers(id);
    if (i.opcode == kWhile || i.opcode == kParameter) CheckWriters(id);
  }

 private:
  bool HasBuffer(InstructionId id) const {
    return (context_.shape_facts(module_[id].shape) & kShapeBuffer) != 0;
  }

  void Bad(InstructionId id, std::string message) {
    context_.Error(id, "buffer", context_.Name(id) + " " + std::move(message));
  }

  void CheckNoBuffers(InstructionId id) {
    bool has = HasBuffer(id);
    for (InstructionId o : module_.operands(id)) has |= HasBuffer(o);
    if (!has) return;
    Bad(id, "is a " + std::string(ToString(module_[id].opcode)) +
                ", which has no buffer operands or results");
  }

  void CheckWriters(InstructionId id) {
    if (!HasBuffer(id)) return;
    ForEachSubshape(module_.shape(id), [&](const Shape& part, std::span<const int64_t> index) {
      if (part.IsBuffer()) CheckUniqueWriter(id, Index(index.begin(), index.end()));
    });
  }

  void CheckUniqueWriter(InstructionId id, Index index) {
    size_t writers = 0;
    std::set<std::pair<uint32_t, Index>> seen;
    std::vector<std::pair<InstructionId, Index>> work{{id, std::move(index)}};
    while (!work.empty() && steps_ < kMaxSteps) {
      auto [at, part] = std::move(work.back());
      work.pop_back();
      if (!seen.emplace(at.index, part).second) continue;
      for (InstructionId user : context_.UsersOf(at)) {
        ++steps_;
        writers += Follow(at, part, user, work);
      }
      if (writers > 1) return Bad(id, "is a buffer that more than one instruction writes");
    }
  }

  // 1 if `user` writes the part; parts that it passes on are added to the work.
  size_t Follow(InstructionId at, const Index& part, InstructionId user,
                std::vector<std::pair<InstructionId, Index>>& work) {
    const Instruction& i = module_[user];
    static constexpr OpcodeSet kWrites = {kCall,        kFusion,    kCustomCall, kAsyncStart,
                                          kAsyncUpdate, kAsyncDone, kWhile,      kConditional};
    if (kWrites.Has(i.opcode)) return 1;
    if (i.opcode == kGetTupleElement) {
      if (!part.empty() && module_.GetInt(i, AttributeKey::kIndex) == part[0]) {
        work.emplace_back(user, Index(part.begin() + 1, part.end()));
      }
      return 0;
    }
    if (i.opcode != kTuple) return 0;
    if (context_.IsRoot(user)) {
      auto callers = context_.callers(i.computation);
      return std::any_of(callers.begin(), callers.end(),
                         [&](InstructionId caller) { return module_[caller].opcode == kWhile; });
    }
    auto operands = module_.operands(user);
    Index longer{std::find(operands.begin(), operands.end(), at) - operands.begin()};
    longer.insert(longer.end(), part.begin(), part.end());
    work.emplace_back(user, std::move(longer));
    return 0;
  }

  size_t AliasCount(InstructionId id) const {
    const auto* aliasing =
        module_.Get<OutputOperandAliasing>(module_[id], AttributeKey::kOutputToOperandAliasing);
    return aliasing == nullptr ? 0 : aliasing->entries.size();
  }

  // Pin makes a buffer of an array, Unpin an array of a buffer.
  void CheckPin(InstructionId id, bool pin) {
    std::string_view what = pin ? "Pin" : "Unpin";
    if (module_[id].operand_count != 1 || AliasCount(id) != 1) {
      return Bad(id, "is a custom-call to " + std::string(what) +
                         ", expected one operand, aliased by the result");
    }
    const Shape& operand = module_.shape(module_.operands(id)[0]);
    const Shape& result = module_.shape(id);
    const Shape& buffer = pin ? result : operand;
    const Shape& array = pin ? operand : result;
    bool good = buffer.IsBuffer() && buffer.elements().size() == 1 && array.IsArray() &&
                Compatible(buffer.elements()[0], array);
    if (!good) {
      return Bad(id, "is a custom-call to " + std::string(what) + " from " +
                         context_.Text(operand) + " to " + context_.Text(result));
    }
    if (!SameLayout(buffer.elements()[0], array)) {
      context_.Strict(id, "layout",
                      context_.Name(id) + " is a custom-call to " + std::string(what) +
                          " that changes the layout: " + context_.Text(operand, true) + " to " +
                          context_.Text(result, true));
    }
    if (pin) CheckUniqueWriter(id, {});
  }

  void CheckCreate(InstructionId id) {
    if (module_[id].operand_count != 0 || !module_.shape(id).IsBuffer()) {
      return Bad(id,
                 "is a custom-call to CreateBuffer, expected no operands and a buffer as "
                 "result");
    }
    CheckUniqueWriter(id, {});
  }

  // Every buffer that goes in comes out once, and the other way round.
  void CheckCustomCall(InstructionId id) {
    std::string_view target = module_.GetString(module_[id], AttributeKey::kCustomCallTarget);
    if (target == "Pin" || target == "Unpin") return CheckPin(id, target == "Pin");
    if (target == "CreateBuffer") return CheckCreate(id);
    std::vector<std::pair<int64_t, Index>> inputs;
    std::vector<std::pair<int64_t, Index>> outputs;
    const auto* aliasing =
        module_.Get<OutputOperandAliasing>(module_[id], AttributeKey::kOutputToOperandAliasing);
    if (aliasing != nullptr) {
      for (const OutputOperandAlias& alias : aliasing->entries) {
        inputs.emplace_back(alias.operand, alias.operand_index);
        outputs.emplace_back(0, alias.output_index);
      }
    }
    std::sort(inputs.begin(), inputs.end());
    std::sort(outputs.begin(), outputs.end());
    auto operands = module_.operands(id);
    for (size_t o = 0; o < operands.size(); ++o) {
      if (HasBuffer(operands[o])) {
        CheckMentioned(id, module_.shape(operands[o]), static_cast<int64_t>(o), inputs, "operand");
      }
    }
    if (!HasBuffer(id)) return;
    CheckMentioned(id, module_.shape(id), 0, outputs, "result");
    CheckWriters(id);
  }

  void CheckMentioned(InstructionId id, const Shape& shape, int64_t number,
                      const std::vector<std::pair<int64_t, Index>>& mentions,
                      std::string_view what) {
    ForEachSubshape(shape, [&](const Shape& part, std::span<const int64_t> index) {
      if (!part.IsBuffer()) return;
      std::pair<int64_t, Index> key(number, Index(index.begin(), index.end()));
      auto [first, last] = std::equal_range(mentions.begin(), mentions.end(), key);
      if (last - first == 1) return;
      Bad(id, "has a buffer in " + std::string(what) + " " + std::to_string(number) + " at " +
                  IndexText(index) + " that output_to_operand_aliasing names " +
                  std::to_string(last - first) + " times, expected once");
    });
  }

  VerifyContext& context_;
  const Module& module_;
  size_t steps_ = 0;
};

}  // namespace

void VerifyBuffers(VerifyContext& context) {
  const Module& module = context.module();
  bool any = false;
  for (size_t s = 0; s < module.shape_count() && !any; ++s) {
    any = (context.shape_facts(ShapeId(s)) & kShapeBuffer) != 0;
  }
  if (!any) return;
  BufferPass pass(context);
  for (uint32_t k = 0; k < module.instructions().size() && !context.full(); ++k) {
    pass.Check(InstructionId(k));
  }
}

}  // namespace hloscope::hlo
