// Alignment as links indexed from both sides.
#include "core/analysis/align/alignment.h"

#include <algorithm>
#include <tuple>

#include "core/analysis/align/alignment_origins.h"
#include "core/analysis/align/alignment_pairs.h"
#include "core/analysis/align/alignment_side.h"

namespace hloscope::analysis {
namespace {

constexpr struct {
  std::string_view key, text;
} kLinkReasons[] = {
#define LINK_REASON(name, key, text) {key, text},
#include "core/analysis/align/link_reasons.def"
#undef LINK_REASON
};

// First entry of each of `count` instructions in links sorted by `side`.
std::vector<uint32_t> Starts(const std::vector<Link>& links, size_t count,
                             hlo::InstructionId Link::* side) {
  std::vector<uint32_t> first(count + 1, 0);
  for (const Link& link : links) ++first[(link.*side).index + 1];
  for (size_t k = 1; k <= count; ++k) first[k] += first[k - 1];
  return first;
}

}  // namespace

std::string_view KeyOf(LinkReason reason) { return kLinkReasons[static_cast<size_t>(reason)].key; }
std::string_view Describe(LinkReason reason) {
  return kLinkReasons[static_cast<size_t>(reason)].text;
}

bool IsIdentity(LinkReason reason) { return reason < LinkReason::kFusionRoot; }

bool Computes(LinkReason reason) {
  return reason != LinkReason::kParameter && reason != LinkReason::kOperand &&
         reason != LinkReason::kServes;
}

Alignment::Alignment(size_t before_count, size_t after_count, std::vector<Link> links)
    : links_(std::move(links)) {
  auto best_first = [](const Link& l) { return std::tuple(-l.confidence, l.reason); };
  auto after_key = [&](const Link& l) { return std::tuple(l.after, l.before, best_first(l)); };
  if (!std::ranges::is_sorted(links_, {}, after_key)) std::ranges::sort(links_, {}, after_key);
  auto same_ends = [](const Link& a, const Link& b) {
    return a.before == b.before && a.after == b.after;
  };
  links_.erase(std::unique(links_.begin(), links_.end(), same_ends), links_.end());
  by_before_ = links_;
  auto by_after = [&](const Link& l) { return std::tuple(l.after, best_first(l), l.before); };
  auto by_before = [&](const Link& l) { return std::tuple(l.before, best_first(l), l.after); };
  if (!std::ranges::is_sorted(links_, {}, by_after)) std::ranges::sort(links_, {}, by_after);
  if (!std::ranges::is_sorted(by_before_, {}, by_before)) {
    std::ranges::sort(by_before_, {}, by_before);
  }
  first_by_after_ = Starts(links_, after_count, &Link::after);
  first_by_before_ = Starts(by_before_, before_count, &Link::before);
}

hlo::InstructionId Alignment::SameBefore(hlo::InstructionId after) const {
  auto links = Origins(after);
  auto same = std::ranges::find_if(links, [](const Link& l) { return IsIdentity(l.reason); });
  return same == links.end() ? hlo::InstructionId() : same->before;
}

hlo::InstructionId Alignment::SameAfter(hlo::InstructionId before) const {
  auto links = Results(before);
  auto same = std::ranges::find_if(links, [](const Link& l) { return IsIdentity(l.reason); });
  return same == links.end() ? hlo::InstructionId() : same->after;
}

Alignment Align(const hlo::Module& before, const hlo::Module& after) {
  bool with_frames = !before.header().stack_frames.empty() && !after.header().stack_frames.empty();
  AlignmentSide b(before, with_frames), a(after, with_frames);
  InstructionPairs pairs = PairInstructions(b, a);
  return Alignment(b.size(), a.size(), FindLinks(b, a, pairs));
}

}  // namespace hloscope::analysis
