// Reasons of links from what the passes said.
#include "core/analysis/align/noted_alignment.h"

#include <algorithm>

#include "core/analysis/align/fingerprint.h"

namespace hloscope::analysis {
namespace {

using hlo::InstructionId;
using hlo::Origin;
using hlo::OriginKind;

class Noted {
 public:
  Noted(const hlo::Module& before, const hlo::Module& after, const std::vector<Origin>& origins)
      : before_(before),
        after_(after),
        origins_(origins),
        own_before_(Fingerprint(before).own),
        own_after_(Fingerprint(after).own),
        same_(after.instructions().size()),
        is_left_(before.instructions().size()) {
    for (const Origin& o : origins) {
      if (IsOfTheSameName(o)) same_[o.after.index] = o.before;
      if (o.kind == OriginKind::kSame) is_left_[o.before.index] = true;
    }
  }

  bool Fits() const {
    return std::ranges::all_of(origins_, [&](const Origin& o) {
      return o.kind > OriginKind::kCopied || before_[o.before].opcode == after_[o.after].opcode;
    });
  }

  LinkReason ReasonOf(const Origin& o) const {
    switch (o.kind) {
      case OriginKind::kSame:
      case OriginKind::kCopied:
        if (!IsOfTheSameName(o)) return LinkReason::kCopied;
        return IsUnchanged(o) ? LinkReason::kSame : LinkReason::kRewritten;
      case OriginKind::kResult:
        return LinkReason::kFusionRoot;
      case OriginKind::kReplaced:
        return LinkReason::kReplaced;
      case OriginKind::kParameter:
        return LinkReason::kParameter;
      case OriginKind::kMade:
        return is_left_[o.before.index] ? LinkReason::kServes : LinkReason::kExpanded;
    }
    return LinkReason::kServes;
  }

 private:
  bool IsOfTheSameName(const Origin& o) const {
    return o.kind <= OriginKind::kCopied && before_.name(o.before) == after_.name(o.after);
  }
  bool IsUnchanged(const Origin& o) const {
    if (own_before_[o.before.index] != own_after_[o.after.index]) return false;
    const auto xs = before_.operands(o.before), ys = after_.operands(o.after);
    return std::ranges::equal(
        xs, ys, [&](InstructionId x, InstructionId y) { return same_[y.index] == x; });
  }

  const hlo::Module &before_, &after_;
  const std::vector<Origin>& origins_;
  const std::vector<uint64_t> own_before_, own_after_;  // what each computes, by instruction
  std::vector<InstructionId> same_;  // by instruction after: the one of its name that it is
  std::vector<bool> is_left_;        // by instruction before
};

}  // namespace

std::optional<Alignment> NotedAlignment(const hlo::Module& before, const hlo::Module& after,
                                        const std::vector<Origin>& origins) {
  const Noted noted(before, after, origins);
  if (!noted.Fits()) return std::nullopt;
  std::vector<Link> links;
  links.reserve(origins.size());
  for (const Origin& o : origins) links.push_back({o.before, o.after, noted.ReasonOf(o), 1});
  return Alignment(before.instructions().size(), after.instructions().size(), std::move(links));
}

}  // namespace hloscope::analysis
