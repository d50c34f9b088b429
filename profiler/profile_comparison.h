// Two sides of a comparison, a recording or several of each: which instructions, fusions,
// categories and source lines got slower or faster, as far as the noise lets it be known.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/jobs.h"
#include "core/base/result.h"
#include "profiler/attribution.h"

namespace hloscope::profiler {

// With several recordings of a side, they tell how far they differ from so many on.
inline constexpr size_t kFewestRecordings = 3;

// What may be wrong with any of a comparison's intervals, all together: one comparison of equal
// sides in that many names something.
inline constexpr double kComparisonError = 0.01;

enum class Verdict : uint8_t {
#define CHANGE_VERDICT(verdict, key, text) verdict,
#include "profiler/change_verdicts.def"
#undef CHANGE_VERDICT
};
// "slower", "within_noise"; and in words.
std::string_view KeyOf(Verdict verdict);
std::string_view ToString(Verdict verdict);
// Of the first side against the second.
Verdict Inverse(Verdict verdict);

// The typical time after over that before, and what it may be. Typical times are of all executions
// in as many runs of its module (ModuleRuns) as the first recording has, spikes left out, in
// picoseconds; what the machine was slower by on the second side is taken out.
struct ChangeRatio {
  double ratio = 1, low = 1, high = 1;
  double before = 0, after = 0;
  double change() const { return after - before; }
  // Of the first side against the second.
  ChangeRatio Inverse() const { return {1 / ratio, 1 / high, 1 / low, after, before}; }
};

// One instruction, known by the names of its module and itself, or what several of them have in
// common. Times are `self`, in picoseconds, and of as many runs of its module as the first
// recording has.
struct ComparedTime {
  std::string module = {}, instruction = {}, opcode = {};  // of a group: its name alone
  std::string source_line = {};  // of an instruction; empty: none is known
  int64_t before_count = 0, after_count = 0;
  int64_t before = 0, after = 0;  // `after` as the second side recorded it
  double after_scaled = 0;
  double change() const { return after_scaled - static_cast<double>(before); }

  Verdict verdict = Verdict::kTooFew;
  std::optional<ChangeRatio> ratio = {};  // nullopt: it cannot be told
  double often = 1;    // how often one run of the second ran it, over the first's
  size_t members = 1;  // instructions
  bool is_named() const { return verdict == Verdict::kSlower || verdict == Verdict::kFaster; }
};

// How often the programs of one name ran, on the mean of a side's recordings; 0: not known.
struct ComparedRuns {
  std::string module;
  double before = 0, after = 0;
  // How often the second side ran it for once of the first; 1 where that is not known.
  double ratio() const { return before > 0 && after > 0 ? after / before : 1; }
};

struct ProfileComparison {
  // Those that are named first, then the largest change, whatever its sign, of typical times where
  // they are known.
  std::vector<ComparedTime> rows;  // instructions
  std::vector<ComparedTime> fusions, categories, source_lines;
  ComparedTime total;
  std::vector<ComparedRuns> modules;  // sorted by name
  double runs = 1;                    // ratio() of the module that took most time before
  int64_t before = 0, after = 0;      // sums over the rows; `after` not scaled

  size_t before_recordings = 0, after_recordings = 0;
  // How much longer instructions took on the second side, in the median of them: taken for the
  // machine's and taken out of the ratios. nullopt: too few instructions to tell.
  std::optional<double> speed;
  // By how much the two recordings differ beyond the noise inside them, in the typical instruction:
  // 0.05 is 5 %. 0: they do not, or there are several, which tell it by themselves.
  double spread = 0;
  size_t judged = 0;     // rows of all tables that have a ratio
  double told_from = 0;  // the change that would be named in the median instruction; 0: in none
  std::vector<std::string> notes;  // why something could not be told, and what helps
};

// Where a side ran a module more often, what is done about it; empty where none did. `second` is
// what the second side is called.
std::string RunsText(const ProfileComparison& comparison, std::string_view second);

// A recording of one side. `programs`: which of its programs count; empty: all.
struct ComparedRecording {
  std::shared_ptr<const Attribution> attribution;
  std::set<int64_t> programs = {};
  bool Counts(const AttributedModule& m) const {
    return programs.empty() || programs.contains(m.program);
  }
};

// The fact by which a recorder says which of its programs ran on the reference platform: "2 5".
inline constexpr std::string_view kReferencePrograms = "programs of the reference";
// A recording with only the programs of the reference in it, or only the others.
ComparedRecording RecordingOf(const Profile& profile,
                              std::shared_ptr<const Attribution> attribution, bool reference);

// kCancelled where `stop` was requested; no errors else.
Result<ProfileComparison> CompareProfiles(std::span<const ComparedRecording> before,
                                          std::span<const ComparedRecording> after, Jobs& jobs,
                                          const std::stop_token& stop = {});

}  // namespace hloscope::profiler
