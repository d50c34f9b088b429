// TracePartners: two traces compared: which instructions are the same, and by how much the
// second is moved so that both begin together.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "viewer/facts/timeline_facts.h"

namespace hloscope::viewer {

struct TracePartners {
  int64_t shift = 0;       // picoseconds that are added to the times of the second
  std::string aligned_by;  // "by their first step"
  // By module and instruction of either attribution: the target in the other; invalid: none.
  std::vector<std::vector<profiler::Target>> of_first, of_second;
  // Instructions that took time in one trace only, longest first.
  std::vector<std::string> only_first, only_second;

  profiler::Target PartnerOf(bool is_second, const profiler::Target& target) const;
  // "3 instructions only before, 1 only after"; empty: each has a partner.
  std::string MissingText(bool swapped) const;
  std::string MissingNames(bool swapped) const;
};

// Instructions are known by the names of their module and their own.
TracePartners FindTracePartners(const ProfileModel& first, const TimelineFacts& first_facts,
                                const ProfileModel& second, const TimelineFacts& second_facts);

// The second profile with its facts and partners, once all is there.
struct SecondTrace {
  std::shared_ptr<const ProfileModel> model;
  std::shared_ptr<const TimelineFacts> facts;
  std::shared_ptr<const TracePartners> partners;
  std::string problem;  // why there is none though one was asked for; empty: it is on its way
};
// Null model: there is none, or not yet.
SecondTrace SecondTraceOf(Context& context, const std::shared_ptr<const ProfileModel>& first);

}  // namespace hloscope::viewer
