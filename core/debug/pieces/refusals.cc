// RefusalSearch: instructions that an error names are tried alone, then halves of all.
#include "core/debug/pieces/refusals.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>

#include "core/debug/pieces/pieces.h"

namespace hloscope::debug {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

namespace {

constexpr size_t kMaxNamed = 16;  // of an error, tried alone

bool IsPartOfName(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
}

// True if `name` stands in the text as a word.
bool HasWord(std::string_view text, std::string_view name) {
  if (name.empty()) return false;
  for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    const bool begins = at == 0 || !IsPartOfName(text[at - 1]);
    const bool ends = end == text.size() || !IsPartOfName(text[end]) ||
                      (text[end] == '.' && (end + 1 == text.size() || text[end + 1] == ' '));
    if (begins && ends) return true;
  }
  return false;
}

std::vector<InstructionId> IdsOf(const Module& module, hlo::ComputationId computation) {
  std::vector<InstructionId> ids;
  const hlo::Computation& c = module[computation];
  for (uint32_t i = 0; i < c.instruction_count; ++i) {
    ids.push_back(InstructionId(c.first_instruction + i));
  }
  return ids;
}

// `ids` and all that they call in turn.
std::vector<InstructionId> Within(const Module& module, std::span<const InstructionId> ids) {
  std::vector<InstructionId> all(ids.begin(), ids.end());
  std::set<uint32_t> seen;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!CallsInTurn(module[all[i]].opcode)) continue;
    for (const hlo::ComputationId callee : module.CalledComputations(module[all[i]])) {
      if (!seen.insert(callee.index).second) continue;
      const std::vector<InstructionId> inner = IdsOf(module, callee);
      all.insert(all.end(), inner.begin(), inner.end());
    }
  }
  return all;
}

// The same operation on the same types.
bool AreAlike(const Module& module, InstructionId a, InstructionId b) {
  if (module[a].opcode != module[b].opcode) return false;
  const auto target = [&](InstructionId id) {
    return module.GetString(module[id], AttributeKey::kCustomCallTarget);
  };
  if (target(a) != target(b)) return false;
  const auto types = [&](InstructionId id) {
    std::vector<hlo::ElementType> all;
    for (const hlo::Shape* leaf : module.shape(id).LeafShapes())
      all.push_back(leaf->element_type());
    for (const InstructionId operand : module.operands(id)) {
      all.push_back(module.shape(operand).element_type());
    }
    return all;
  };
  return types(a) == types(b);
}

}  // namespace

hlo::FallbackReason ReasonInWords(std::string_view text) {
#define REFUSAL_WORDS(words, reason) \
  if (text.find(words) != std::string_view::npos) return hlo::FallbackReason::reason;
#include "core/debug/pieces/refusal_words.def"
#undef REFUSAL_WORDS
  return hlo::FallbackReason::kNone;
}

hlo::FallbackReason ReasonOf(const Error& error, const hlo::Instruction& instruction) {
  const hlo::FallbackReason reason = ReasonInWords(error.message);
  const bool is_call = instruction.opcode == Opcode::kCustomCall;
  if (reason == hlo::FallbackReason::kCustomCall && !is_call)
    return hlo::FallbackReason::kCompileFailure;
  if (reason != hlo::FallbackReason::kNone) return reason;
  if (error.error_class != ErrorClass::kUnsupported) return hlo::FallbackReason::kCompileFailure;
  return is_call ? hlo::FallbackReason::kCustomCall : hlo::FallbackReason::kUnsupportedOpcode;
}

Refusal RefusalOf(InstructionId id, const Error& error, const hlo::Instruction& instruction) {
  const hlo::FallbackReason reason = ReasonOf(error, instruction);
  return {id, reason, std::string(hlo::WithoutReason(reason, error.message))};
}

bool CallsInTurn(Opcode opcode) {
  return opcode == Opcode::kWhile || opcode == Opcode::kCall || opcode == Opcode::kConditional;
}

bool CanBeRefused(const Module& module, InstructionId id) {
  const Opcode opcode = module[id].opcode;
  return opcode != Opcode::kParameter && opcode != Opcode::kConstant && !ForwardsOperand(opcode);
}

std::vector<InstructionId> NamedIn(const Module& module, std::span<const InstructionId> ids,
                                   std::string_view text) {
  std::vector<InstructionId> named;
  for (const InstructionId id : Within(module, ids)) {
    if (!CanBeRefused(module, id)) continue;
    const auto target = module.GetString(module[id], AttributeKey::kCustomCallTarget);
    if (HasWord(text, target) || HasWord(text, module.name(id))) named.push_back(id);
  }
  return named;
}

bool RefusalSearch::IsFound(InstructionId id) const {
  return std::ranges::any_of(found_, [&](const Refusal& it) { return it.instruction == id; });
}

Result<std::optional<Error>> RefusalSearch::LoadAlone(std::span<const InstructionId> ids) {
  if (--left_ < 0) return std::nullopt;
  std::vector<Piece> pieces;
  for (const InstructionId id : ids) pieces.push_back(CutPiece(module_, id, 0));
  return load_(JoinPieces(module_, pieces, PieceDevices::kAll).module);
}

Status RefusalSearch::Find(std::span<const InstructionId> ids, const Error& error) {
  const size_t before = found_.size();
  HLOSCOPE_TRY(FindNamed(ids, error));
  if (found_.size() > before) return {};
  std::vector<InstructionId> refusable;
  for (const InstructionId id : ids) {
    if (CanBeRefused(module_, id) && !IsFound(id)) refusable.push_back(id);
  }
  return Halve(refusable);
}

Status RefusalSearch::FindNamed(std::span<const InstructionId> ids, const Error& error) {
  std::vector<InstructionId> named = NamedIn(module_, ids, error.message);
  if (named.size() > kMaxNamed) named.resize(kMaxNamed);
  for (const InstructionId id : named) {
    if (IsFound(id)) continue;
    HLOSCOPE_ASSIGN_OR_RETURN(const auto refused, LoadAlone({&id, 1}));
    if (refused) HLOSCOPE_TRY(Take(id, *refused));
  }
  return {};
}

Status RefusalSearch::Halve(std::span<const InstructionId> ids) {
  // Finding one may have found others like it.
  std::vector<InstructionId> open;
  std::ranges::copy_if(ids, std::back_inserter(open), [&](auto id) { return !IsFound(id); });
  if (open.empty()) return {};
  HLOSCOPE_ASSIGN_OR_RETURN(const auto refused, LoadAlone(open));
  if (!refused) return {};
  if (open.size() == 1) return Take(open[0], *refused);
  const std::span<const InstructionId> all(open);
  HLOSCOPE_TRY(Halve(all.first(all.size() / 2)));
  return Halve(all.subspan(all.size() / 2));
}

// Refused alone: for something inside, or for itself.
Status RefusalSearch::Take(InstructionId id, const Error& error) {
  if (CallsInTurn(module_[id].opcode)) {
    for (const hlo::ComputationId callee : module_.CalledComputations(module_[id])) {
      HLOSCOPE_TRY(Find(IdsOf(module_, callee), error));
    }
    const auto inside = Within(module_, {&id, 1});
    if (std::ranges::any_of(inside, [&](InstructionId it) { return IsFound(it); })) return {};
  }
  found_.push_back(RefusalOf(id, error, module_[id]));
  return TakeAlike(id);
}

// Those of the same operation in the same computation are likely refused, too; each is tried, but
// calls of a target that nobody knows.
Status RefusalSearch::TakeAlike(InstructionId id) {
  const Refusal like = found_.back();
  for (const InstructionId other : IdsOf(module_, module_[id].computation)) {
    if (!AreAlike(module_, id, other) || IsFound(other)) continue;
    if (like.reason == hlo::FallbackReason::kCustomCall) {
      found_.push_back({other, like.reason, like.detail});
      continue;
    }
    HLOSCOPE_ASSIGN_OR_RETURN(const auto refused, LoadAlone({&other, 1}));
    if (refused) found_.push_back(RefusalOf(other, *refused, module_[other]));
  }
  return {};
}

}  // namespace hloscope::debug
