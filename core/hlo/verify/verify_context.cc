// Findings of the verifier in order, and the facts about calls, parameters and shapes that its
// passes share.
#include "core/hlo/verify/verify_context.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/analysis/users.h"
#include "core/hlo/permutation.h"
#include "core/hlo/verify/verify_layout.h"

namespace hloscope::hlo {
namespace {

constexpr size_t kLongestShapeText = 300;
constexpr size_t kLongestName = 120;
constexpr int64_t kHostMemorySpace = 5;

std::string Shorten(std::string_view text, size_t longest) {
  if (text.size() <= longest) return std::string(text);
  return std::string(text.substr(0, longest)) + "...";
}

bool HasManyParts(const Shape& shape) {
  constexpr size_t kMany = 64;
  size_t parts = 0;
  std::vector<const Shape*> work{&shape};
  while (!work.empty()) {
    const Shape* top = work.back();
    work.pop_back();
    if (++parts + top->elements().size() > kMany) return true;
    for (const Shape& element : top->elements()) work.push_back(&element);
  }
  return false;
}

uint8_t FactsOfPart(const Shape& shape) {
  uint8_t facts = 0;
  if (shape.IsBuffer()) facts |= kShapeBuffer;
  for (size_t d = 0; d < shape.rank(); ++d) {
    if (shape.is_unbounded_dimension(d)) {
      facts |= kShapeUnbounded;
    } else if (shape.dimension(d) < 0) {
      facts |= kShapeBadDimension;
    }
  }
  if (!shape.IsArray() || !shape.has_layout()) return facts;
  if (!IsPermutation(shape.layout().minor_to_major, shape.rank())) facts |= kShapeBadLayout;
  if (shape.layout().memory_space() == kHostMemorySpace) facts |= kShapeHostMemory;
  bool sub_byte = BitWidth(shape.element_type()) < 8;
  if (!sub_byte && shape.layout().element_size_in_bits() != 0) facts |= kShapeOddElementSize;
  return facts;
}

uint8_t FactsOf(const Shape& shape) {
  uint8_t facts = 0;
  ForEachSubshape(shape, [&](const Shape& part, std::span<const int64_t>) {
    facts |= FactsOfPart(part);
    if (part.IsBuffer() && !part.elements().empty()) facts |= FactsOfPart(part.elements()[0]);
  });
  if ((facts & (kShapeUnbounded | kShapeBadDimension)) == 0 && !shape.ByteSize().has_value()) {
    facts |= kShapeOverflow;
  }
  return facts;
}

bool IsAsynchronous(Opcode opcode) {
  return HasFlag(opcode, kFlagStart) || HasFlag(opcode, kFlagDone) ||
         opcode == Opcode::kAsyncUpdate || opcode == Opcode::kSend || opcode == Opcode::kRecv;
}

}  // namespace

VerifyContext::VerifyContext(const Module& module, const VerifyOptions& options)
    : module_(module),
      options_(options),
      limit_(static_cast<size_t>(std::max<int64_t>(1, options.limits.diagnostics))) {}

void VerifyContext::Add(Severity severity, uint32_t order, uint64_t offset, std::string_view rule,
                        std::string message, std::string hint) {
  size_t& count = severity == Severity::kError ? error_count_ : warning_count_;
  if (count >= limit_) return;
  ++count;
  findings_.push_back(
      {order, {severity, std::string(rule), std::move(message), std::move(hint), offset}});
}

uint64_t VerifyContext::OffsetOf(InstructionId id) const {
  uint32_t offset = module_.source_offset(id);
  return offset == 0 || offset == std::numeric_limits<uint32_t>::max() ? Diagnostic::kNoOffset
                                                                       : offset;
}

void VerifyContext::Error(InstructionId at, std::string_view rule, std::string message,
                          std::string hint) {
  sound_ = false;
  Add(Severity::kError, at.index, OffsetOf(at), rule, std::move(message), std::move(hint));
}

void VerifyContext::Strict(InstructionId at, std::string_view rule, std::string message,
                           std::string hint) {
  StrictAt(OffsetOf(at), at, rule, std::move(message), std::move(hint));
}

void VerifyContext::StrictAt(uint64_t offset, InstructionId at, std::string_view rule,
                             std::string message, std::string hint) {
  Add(options_.strict ? Severity::kError : Severity::kWarning, at.index, offset, rule,
      std::move(message), std::move(hint));
}

void VerifyContext::ModuleError(std::string_view rule, std::string message, std::string hint) {
  sound_ = false;
  Add(Severity::kError, 0, Diagnostic::kNoOffset, rule, std::move(message), std::move(hint));
}

std::vector<Diagnostic> VerifyContext::Take() {
  std::stable_sort(findings_.begin(), findings_.end(),
                   [](const Finding& a, const Finding& b) { return a.order < b.order; });
  std::vector<Diagnostic> result;
  result.reserve(findings_.size());
  for (Finding& f : findings_) result.push_back(std::move(f.diagnostic));
  findings_.clear();
  return result;
}

std::string VerifyContext::Name(InstructionId id) const {
  return "%" + Shorten(module_.name(id), kLongestName);
}

std::string VerifyContext::Name(ComputationId id) const {
  return "%" + Shorten(module_[module_[id].name], kLongestName);
}

std::string VerifyContext::Text(const Shape& shape, bool layouts) const {
  if (!HasManyParts(shape)) return Shorten(ToString(shape, layouts), kLongestShapeText);
  return "a large tuple of " + std::to_string(shape.elements().size()) + " elements";
}

void VerifyContext::ComputeShapeFacts() {
  shape_facts_.resize(module_.shape_count());
  for (size_t i = 0; i < shape_facts_.size(); ++i) shape_facts_[i] = FactsOf(module_[ShapeId(i)]);
}

void VerifyContext::IndexParameters() {
  size_t computations = module_.computations().size();
  parameter_start_.assign(computations + 1, 0);
  for (const Instruction& i : module_.instructions()) {
    if (i.opcode == Opcode::kParameter) ++parameter_start_[i.computation.index + 1];
  }
  for (size_t c = 0; c < computations; ++c) parameter_start_[c + 1] += parameter_start_[c];
  parameters_.assign(parameter_start_.back(), InstructionId());
  for (uint32_t k = 0; k < module_.instructions().size(); ++k) {
    const Instruction& i = module_.instructions()[k];
    if (i.opcode != Opcode::kParameter) continue;
    int64_t number = module_.GetInt(i, AttributeKey::kParameterNumber, -1);
    uint32_t start = parameter_start_[i.computation.index];
    int64_t count = parameter_start_[i.computation.index + 1] - start;
    if (number < 0 || number >= count) {
      Error(InstructionId(k), "parameter-number",
            Name(InstructionId(k)) + " is parameter " + std::to_string(number) +
                " of a computation with " + std::to_string(count) + " parameters",
            "number the parameters 0 to " + std::to_string(count - 1));
      continue;
    }
    InstructionId& slot = parameters_[start + static_cast<size_t>(number)];
    if (slot.valid()) {
      Error(InstructionId(k), "parameter-number",
            Name(InstructionId(k)) + " and " + Name(slot) + " are both parameter " +
                std::to_string(number));
    } else {
      slot = InstructionId(k);
    }
  }
}

void VerifyContext::IndexCalls() {
  uses_.assign(module_.computations().size(), 0);
  for (uint32_t k = 0; k < module_.instructions().size(); ++k) {
    const Opcode opcode = module_.instructions()[k].opcode;
    if (HasFlag(opcode, kFlagCollective)) collectives_.emplace_back(k);
    if (IsAsynchronous(opcode)) asynchronous_.emplace_back(k);
    if (opcode == Opcode::kCustomCall) custom_calls_.emplace_back(k);
  }
  for (const Call& call : CallGraphOf(module_).calls()) {
    if (with_callees_.empty() || with_callees_.back() != call.caller) {
      with_callees_.push_back(call.caller);
    }
    const Opcode opcode = module_[call.caller].opcode;
    if (opcode == Opcode::kFusion) uses_[call.callee.index] |= kUsedByFusion;
    if (opcode == Opcode::kAsyncStart) uses_[call.callee.index] |= kUsedByAsync;
  }
  AssignThreads();
}

// XLA gives the thread of an asynchronous instruction to all it calls (SetThreadName).
void VerifyContext::AssignThreads() {
  threads_.resize(module_.computations().size());
  std::vector<bool> overridden(threads_.size());
  for (size_t c = 0; c < threads_.size(); ++c) {
    StringId name = module_.computations()[c].execution_thread;
    threads_[c] = name.valid() ? module_[name] : std::string_view("main");
  }
  for (ComputationId id : call_order()) {
    for (InstructionId caller : callers(id)) {
      const Instruction& i = module_[caller];
      if (i.opcode == Opcode::kAsyncStart) {
        std::string_view name = module_.GetString(i, AttributeKey::kAsyncExecutionThread);
        threads_[id.index] = name.empty() ? std::string_view("main") : name;
        overridden[id.index] = true;
      } else if (overridden[i.computation.index] && i.opcode != Opcode::kAsyncUpdate &&
                 i.opcode != Opcode::kAsyncDone) {
        threads_[id.index] = threads_[i.computation.index];
        overridden[id.index] = true;
      }
    }
  }
}

std::vector<InstructionId> VerifyContext::UsersOf(InstructionId id) {
  auto slots = hlo::UsersOf(module_).users(id);
  std::vector<InstructionId> users(slots.begin(), slots.end());
  users.erase(std::unique(users.begin(), users.end()), users.end());
  std::erase_if(users, [&](InstructionId user) {
    return module_[user].opcode == Opcode::kCustomCall &&
           module_.GetString(module_[user], AttributeKey::kCustomCallTarget) == "control_dep";
  });
  return users;
}

template <typename Ask>
bool VerifyContext::Remember(ShapeId a, ShapeId b, uint64_t question, Ask&& ask) {
  constexpr size_t kAnswers = 4096;
  if (answers_.empty()) answers_.resize(kAnswers);
  uint64_t pair = uint64_t{a.index} << 32 | b.index;
  uint64_t hash = (pair ^ question * 0x2545f4914f6cdd1du) * 0x9e3779b97f4a7c15u;
  Answer& answer = answers_[hash >> 40 & (kAnswers - 1)];
  if (answer.pair != pair || answer.question != question) {
    answer = {pair, question, ask(module_[a], module_[b])};
  }
  return answer.same;
}

bool VerifyContext::Same(ShapeId a, ShapeId b) {
  if (a == b) return true;
  return Remember(a, b, 0, [](const Shape& x, const Shape& y) { return SameShape(x, y); });
}

bool VerifyContext::SameLaidOut(ShapeId a, ShapeId b, unsigned ignore) {
  if (a == b) return true;
  return Remember(a, b, 1 + ignore,
                  [&](const Shape& x, const Shape& y) { return SameLayout(x, y, ignore); });
}

bool VerifyContext::SameElement(ShapeId tuple, size_t element, ShapeId part) {
  auto ask = [&](const Shape& x, const Shape& y) { return SameShape(x.elements()[element], y); };
  if (!module_[part].IsTuple()) return ask(module_[tuple], module_[part]);
  return Remember(tuple, part, (element + 1) << 16, ask);
}

bool VerifyContext::SameElementLayout(ShapeId tuple, size_t element, ShapeId part,
                                      unsigned ignore) {
  auto ask = [&](const Shape& x, const Shape& y) {
    return SameLayout(x.elements()[element], y, ignore);
  };
  if (!module_[part].IsTuple()) return ask(module_[tuple], module_[part]);
  return Remember(tuple, part, (element + 1) << 16 | (1 + ignore), ask);
}

const Shape* Subshape(const Shape& shape, std::span<const int64_t> index) {
  const Shape* part = &shape;
  for (int64_t i : index) {
    if (!part->IsTuple() || i < 0 || static_cast<size_t>(i) >= part->elements().size()) {
      return nullptr;
    }
    part = &part->elements()[static_cast<size_t>(i)];
  }
  return part;
}

std::string IndexText(std::span<const int64_t> index) {
  constexpr size_t kMax = 16;
  std::string text = "{";
  for (size_t i = 0; i < index.size(); ++i) {
    if (i != 0) text += ",";
    if (i == kMax) return text + "...}";
    text += std::to_string(index[i]);
  }
  return text + "}";
}

std::optional<std::string_view> FrontendAttributeOf(const Module& module, const Instruction& i,
                                                    std::string_view key) {
  const auto* attributes = module.Get<FrontendAttributes>(i, AttributeKey::kFrontendAttributes);
  if (attributes == nullptr) return std::nullopt;
  for (const FrontendAttribute& entry : attributes->entries) {
    if (module[entry.key] == key) return module[entry.value];
  }
  return std::nullopt;
}

}  // namespace hloscope::hlo
