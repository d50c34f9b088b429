// What the passes of the verifier share: the module, facts computed once about it, and the list of
// findings. Internal to the verifier.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/analysis/users.h"
#include "core/hlo/verify/verifier.h"

namespace hloscope::hlo {

// Facts about one interned shape, by ShapeId. Bits of ShapeFacts.
enum ShapeFact : uint8_t {
  kShapeBadLayout = 1,       // minor_to_major is no permutation of the dimensions somewhere
  kShapeBadDimension = 2,    // a negative size
  kShapeUnbounded = 4,       // has an unbounded dimension
  kShapeOverflow = 8,        // the size in bytes exceeds 63 bits
  kShapeBuffer = 16,         // has a buffer inside
  kShapeHostMemory = 32,     // an array lives in host memory
  kShapeOddElementSize = 64  // element_size_in_bits on a type of whole bytes
};

class VerifyContext {
 public:
  VerifyContext(const Module& module, const VerifyOptions& options);

  const Module& module() const { return module_; }
  const VerifyOptions& options() const { return options_; }

  // A finding XLA's default verifier refuses.
  void Error(InstructionId at, std::string_view rule, std::string message, std::string hint = {});
  // A finding of the layout-sensitive, no-mixed-precision or backend checks: an error in strict
  // mode, else a warning.
  void Strict(InstructionId at, std::string_view rule, std::string message, std::string hint = {});
  // About the module as a whole.
  void ModuleError(std::string_view rule, std::string message, std::string hint = {});
  // A strict finding whose place in the text is known better than by its instruction.
  void StrictAt(uint64_t offset, InstructionId at, std::string_view rule, std::string message,
                std::string hint = {});
  // True once as many errors as wanted were found: passes stop early.
  bool full() const { return error_count_ >= limit_; }
  // Likewise for strict findings, which are warnings in plain mode.
  bool full_of_strict() const {
    return (options_.strict ? error_count_ : warning_count_) >= limit_;
  }
  size_t error_count() const { return error_count_; }
  // False once Error or ModuleError was called: later passes that index by shape must not run.
  bool sound() const { return sound_; }
  // The findings in program order.
  std::vector<Diagnostic> Take();

  // For messages: "%add.3", the shape shortened to a readable length.
  std::string Name(InstructionId id) const;
  std::string Name(ComputationId id) const;
  std::string Text(const Shape& shape, bool layouts = false) const;
  std::string Text(InstructionId id) const { return Text(module_.shape(id)); }

  // Facts filled by VerifyStructure.
  uint8_t shape_facts(ShapeId id) const { return shape_facts_[id.index]; }
  void ComputeShapeFacts();
  // Parameters by number; complete once VerifyStructure found nothing.
  std::span<const InstructionId> parameters(ComputationId c) const {
    return Slice(parameters_, parameter_start_, c.index);
  }
  size_t parameter_count(ComputationId c) const { return parameters(c).size(); }
  const Shape& parameter_shape(ComputationId c, size_t n) const {
    return module_.shape(parameters(c)[n]);
  }
  const Shape& root_shape(ComputationId c) const { return module_.shape(module_[c].root); }
  // Instructions that call `c`, in program order, once per mention.
  std::span<const InstructionId> callers(ComputationId c) const {
    return CallGraphOf(module_).callers(c);
  }
  // Computations an instruction calls directly, in XLA's order.
  void ForEachCallee(InstructionId id, auto&& visit) const {
    for (const Call& call : CallGraphOf(module_).calls(id)) visit(call.callee);
  }
  // Computations, callers before callees; shorter than all of them if calls form a cycle.
  std::span<const ComputationId> call_order() const { return CallGraphOf(module_).callers_first(); }
  // How a computation is used.
  bool IsFusion(ComputationId c) const { return (uses_[c.index] & kUsedByFusion) != 0; }
  bool IsAsync(ComputationId c) const { return (uses_[c.index] & kUsedByAsync) != 0; }
  // The thread a computation runs on; the asynchronous instruction that calls one decides over it.
  std::string_view thread(ComputationId c) const { return threads_[c.index]; }
  // Instructions other passes look at, in program order.
  std::span<const InstructionId> with_callees() const { return with_callees_; }
  std::span<const InstructionId> collectives() const { return collectives_; }
  std::span<const InstructionId> asynchronous() const { return asynchronous_; }
  std::span<const InstructionId> custom_calls() const { return custom_calls_; }
  // The users of an instruction, each once; `control_dep` custom calls, which only order, are none.
  std::vector<InstructionId> UsersOf(InstructionId id);
  size_t UserSlots(InstructionId id) { return hlo::UsersOf(module_).users(id).size(); }
  // SameShape and SameLayout of interned shapes, and of an element of one; remembered, since a
  // short file can ask about the same large tuples again and again.
  bool Same(ShapeId a, ShapeId b);
  bool SameLaidOut(ShapeId a, ShapeId b, unsigned ignore);
  bool SameElement(ShapeId tuple, size_t element, ShapeId part);
  bool SameElementLayout(ShapeId tuple, size_t element, ShapeId part, unsigned ignore);
  // False once more such work was asked for than any sound file needs.
  bool Spend(int64_t work) {
    work_left_ -= work;
    return work_left_ >= 0;
  }
  bool IsRoot(InstructionId id) const { return module_[module_[id].computation].root == id; }

  // Filling, by VerifyStructure.
  void IndexParameters();
  void IndexCalls();

 private:
  enum Use : uint8_t { kUsedByFusion = 1, kUsedByAsync = 2 };
  struct Finding {
    uint32_t order;
    Diagnostic diagnostic;
  };
  static std::span<const InstructionId> Slice(const std::vector<InstructionId>& values,
                                              const std::vector<uint32_t>& starts, size_t index) {
    return std::span(values).subspan(starts[index], starts[index + 1] - starts[index]);
  }
  void Add(Severity severity, uint32_t order, uint64_t offset, std::string_view rule,
           std::string message, std::string hint);
  uint64_t OffsetOf(InstructionId id) const;
  void AssignThreads();

  const Module& module_;
  const VerifyOptions& options_;
  size_t limit_;
  size_t error_count_ = 0, warning_count_ = 0;
  std::vector<Finding> findings_;
  std::vector<uint8_t> shape_facts_;
  std::vector<InstructionId> parameters_;
  std::vector<uint32_t> parameter_start_;
  std::vector<uint8_t> uses_;
  std::vector<std::string_view> threads_;
  std::vector<InstructionId> with_callees_, collectives_, asynchronous_, custom_calls_;
  bool sound_ = true;
  int64_t work_left_ = 1 << 24;
  struct Answer {
    uint64_t pair = ~uint64_t{0};
    uint64_t question = 0;
    bool same = false;
  };
  template <typename Ask>
  bool Remember(ShapeId a, ShapeId b, uint64_t question, Ask&& ask);
  std::vector<Answer> answers_;
};

// The passes, in the order they run. The first two answer false where nothing further can be
// looked at.
bool VerifyStructure(VerifyContext& context);   // ids, order, names, roots, parameters
bool VerifyCalls(VerifyContext& context);       // call graph: cycles, depth, threads
void VerifyAttributes(VerifyContext& context);  // required and unknown ones, aliasing
void VerifyHeader(VerifyContext& context);      // entry layout, aliases, donors
void VerifyShapes(VerifyContext& context);      // every shape against what its operands give
void VerifyDeclaredShape(VerifyContext& context, InstructionId id);  // part of VerifyShapes
void VerifyControl(VerifyContext& context);  // while, conditional, call, reducers and so on
void VerifyFusions(VerifyContext& context);
void VerifyCollectives(VerifyContext& context);
void VerifyAsync(VerifyContext& context);     // start/done pairs, channels
void VerifySchedule(VerifyContext& context);  // send/recv deadlocks of scheduled modules
void VerifyBuffers(VerifyContext& context);   // pinned buffers and their writers
void VerifySharding(VerifyContext& context);
void VerifyLayouts(VerifyContext& context);                             // layout-sensitive rules
void VerifyReinterpretation(VerifyContext& context, InstructionId id);  // part of VerifyLayouts
void VerifyMetadata(VerifyContext& context);  // original values, names kept

// Shapes agree but for layouts and dynamic sizes (XLA: ShapeUtil::Compatible).
inline bool SameShape(const Shape& a, const Shape& b) {
  return &a == &b || Compatible(a, b, {.dynamic_dimensions = false});
}
// Likewise, any two floating-point types agreeing.
inline bool SameShapeAnyPrecision(const Shape& a, const Shape& b) {
  return &a == &b || Compatible(a, b, {.float_precision = false, .dynamic_dimensions = false});
}
// The part of a shape at an index; null where there is none.
const Shape* Subshape(const Shape& shape, std::span<const int64_t> index);
// Calls visit(part, index) for the shape and every part inside it, tuples before their elements.
template <typename Visit>
void ForEachSubshape(const Shape& shape, Visit&& visit) {
  struct Frame {
    const Shape* shape;
    size_t next;
  };
  std::vector<int64_t> index;
  std::vector<Frame> stack{{&shape, 0}};
  visit(shape, std::as_const(index));
  while (!stack.empty()) {
    Frame& top = stack.back();
    if (!top.shape->IsTuple() || top.next == top.shape->elements().size()) {
      stack.pop_back();
      if (!index.empty()) index.pop_back();
      continue;
    }
    const Shape& child = top.shape->elements()[top.next];
    index.push_back(static_cast<int64_t>(top.next++));
    visit(child, std::as_const(index));
    stack.push_back({&child, 0});
  }
}
// "{1,0}".
std::string IndexText(std::span<const int64_t> index);
// The value of a frontend attribute; nullopt where there is none.
std::optional<std::string_view> FrontendAttributeOf(const Module& module, const Instruction& i,
                                                    std::string_view key);

}  // namespace hloscope::hlo
