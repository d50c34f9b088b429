// Which instructions of one module became which of another: the same program before and after a
// pass, or before and after all of them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::analysis {

enum class LinkReason : uint8_t {
#define LINK_REASON(name, key, text) name,
#include "core/analysis/align/link_reasons.def"
#undef LINK_REASON
};
// The name of a reason in JSON: "same", "fusion_root", …
std::string_view KeyOf(LinkReason reason);
// The reason in words.
std::string_view Describe(LinkReason reason);

struct Link {
  hlo::InstructionId before, after;
  LinkReason reason = LinkReason::kSame;
  float confidence = 0;  // 0 to 1: the share of such links that is right
  bool operator==(const Link&) const = default;
};

// Links are N to M: a fusion has those it gives the results of, a removed instruction what took
// its place. Each instruction's links stand best first.
class Alignment {
 public:
  Alignment() = default;
  // The links in any order; pairs that occur twice keep the better one.
  Alignment(size_t before_count, size_t after_count, std::vector<Link> links);

  std::span<const Link> links() const { return links_; }
  // Where an instruction of the later module comes from.
  std::span<const Link> Origins(hlo::InstructionId after) const {
    return std::span(links_).subspan(
        first_by_after_[after.index],
        first_by_after_[after.index + 1] - first_by_after_[after.index]);
  }
  // What became of an instruction of the earlier module.
  std::span<const Link> Results(hlo::InstructionId before) const {
    return std::span(by_before_)
        .subspan(first_by_before_[before.index],
                 first_by_before_[before.index + 1] - first_by_before_[before.index]);
  }
  // The instruction that is this one in the other module, or of which this one is a copy; invalid
  // where there is none. Of several copies SameAfter gives the best.
  hlo::InstructionId SameBefore(hlo::InstructionId after) const;
  hlo::InstructionId SameAfter(hlo::InstructionId before) const;

 private:
  std::vector<Link> links_, by_before_;
  std::vector<uint32_t> first_by_after_, first_by_before_;
};

// True for reasons that say: this is that instruction, not something made of it.
bool IsIdentity(LinkReason reason);
// True for reasons that say: this computes that instruction's value, and does not only read it.
bool Computes(LinkReason reason);

// Never fails; time is near linear in the instructions of both.
Alignment Align(const hlo::Module& before, const hlo::Module& after);

}  // namespace hloscope::analysis
