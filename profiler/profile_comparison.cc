// How it is judged. With one recording a side an instruction's executions are the samples; how far
// recordings differ otherwise is seen by how far most instructions do. With several, recordings are
// the samples. An interval is as wide as it has to be for all of them to hold together.
#include "profiler/profile_comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <sstream>

#include "core/base/counted.h"
#include "profiler/compared_items.h"
#include "profiler/sample_statistics.h"
#include "profiler/typical_times.h"

namespace hloscope::profiler {
namespace {

constexpr double kUnknownShare = 0.02;  // of a group's time may be of members that show no noise
// What recordings differ by apart from their noise has long tails: of recordings of one program,
// the furthest instruction in a hundred is some ten times as far off as the middle one.
constexpr double kSpreadFreedom = 3;
constexpr double kGate = 3;  // standard deviations beyond which a spread is no chance
constexpr double kMiddleOfNormal = 0.6745, kNinthOfNormal = 1.6449;  // of its absolute values

// The difference of two logarithms; `noise.freedom` 0: it cannot be judged.
struct Difference {
  double before = 0, after = 0;
  Estimate noise;
  bool only_before = false, only_after = false;
  double value() const { return after - before; }
};

// Rows of one table, and the items each is made of.
struct Table {
  std::vector<ComparedTime>* rows;
  std::vector<std::vector<size_t>> members;
  std::vector<Difference> differences;
};

class Comparing {
 public:
  Comparing(ComparedItems found, size_t before, size_t after)
      : modules_(std::move(found.modules)),
        items_(std::move(found.items)),
        sides_{{{0, before}, {before, before + after}}} {
    out_.before_recordings = before;
    out_.after_recordings = after;
  }

  ProfileComparison Compare() {
    CountRuns();
    ScaleCounts();
    FillGaps();
    TakeOutSpeed();
    MakeTables();
    for (Table& table : tables_) Differences(table);
    if (is_single()) FindSpread();
    Judge();
    for (Table& table : tables_) Sort(*table.rows);
    Explain();
    return std::move(out_);
  }

 private:
  struct Side {
    size_t first, last;  // recordings
    size_t size() const { return last - first; }
    // To divide by: a side may have no recording.
    double weight() const { return static_cast<double>(std::max<size_t>(size(), 1)); }
  };
  size_t recordings() const { return sides_[1].last; }
  bool is_single() const { return sides_[0].size() == 1 && sides_[1].size() == 1; }
  bool are_enough() const {
    return std::min(sides_[0].size(), sides_[1].size()) >= kFewestRecordings;
  }

  void CountRuns() {
    for (const ItemModule& module : modules_) {
      std::array<double, 2> means{};
      for (size_t s = 0; s < 2; ++s) {
        double sum = 0, known = 0;
        for (size_t r = sides_[s].first; r < sides_[s].last; ++r) {
          sum += static_cast<double>(module.recordings[r].count);
          known += module.recordings[r].count > 0 ? 1 : 0;
        }
        means[s] = known > 0 ? sum / known : 0;
      }
      out_.modules.push_back({module.name, means[0], means[1]});
    }
    std::vector<double> before(modules_.size(), 0);
    for (const ComparedItem& item : items_) {
      for (size_t r = 0; r < sides_[0].last; ++r)
        before[item.module] += static_cast<double>(item.recordings[r].self);
    }
    const auto longest = std::ranges::max_element(before);
    if (longest == before.end()) return;
    out_.runs = out_.modules[static_cast<size_t>(longest - before.begin())].ratio();
  }
  double ScaleOf(const ComparedItem& item, size_t recording) const {
    return modules_[item.module].scales[recording];
  }

  // Counts of every recording for as many runs as the first has.
  void ScaleCounts() {
    for (const Side& side : sides_) {
      std::vector<double>& counts = counts_.emplace_back(items_.size(), 0);
      for (size_t i = 0; i < items_.size(); ++i) {
        for (size_t r = side.first; r < side.last; ++r) {
          counts[i] += static_cast<double>(items_[i].recordings[r].count) / ScaleOf(items_[i], r) /
                       side.weight();
        }
      }
    }
    IgnoreCutRuns();
  }

  // A trace may begin and end within a run: one execution more or less in as many runs is none.
  void IgnoreCutRuns() {
    constexpr double kCut = 1.5, kMaxCut = 0.3;
    for (size_t i = 0; i < items_.size(); ++i) {
      const auto& recordings = modules_[items_[i].module].recordings;
      if (std::ranges::none_of(recordings, &ModuleRuns::is_cut)) continue;
      int64_t fewest = std::ranges::min(recordings, {}, &ModuleRuns::count).count;
      if (fewest < 2) continue;
      const double slack = std::min(kCut / static_cast<double>(fewest), kMaxCut);
      const double before = counts_[0][i], after = counts_[1][i];
      if (std::abs(after - before) <= slack * std::max(before, after)) counts_[1][i] = before;
    }
  }

  // What one recording lacks is taken from the others of its side.
  void FillGaps() {
    logs_.assign(items_.size(), std::vector<double>(recordings(), 0));
    is_known_.assign(2, std::vector<bool>(items_.size(), false));
    for (size_t i = 0; i < items_.size(); ++i) {
      for (size_t s = 0; s < 2; ++s) {
        double sum = 0, known = 0;
        for (size_t r = sides_[s].first; r < sides_[s].last; ++r) {
          const RecordedItem& told = items_[i].recordings[r];
          if (!told.has_typical) continue;
          sum += logs_[i][r] = told.typical.value;
          ++known;
        }
        is_known_[s][i] = known > 0;
        for (size_t r = sides_[s].first; r < sides_[s].last && known > 0; ++r) {
          if (!items_[i].recordings[r].has_typical) logs_[i][r] = sum / known;
        }
      }
    }
  }

  // Whether the item shows how fast the machine was.
  bool TellsSpeed(const ComparedItem& item) const {
    return std::ranges::all_of(item.recordings, [&](const RecordedItem& told) {
      return told.has_typical && (!is_single() || told.typical.freedom > 0);
    });
  }

  void TakeOutSpeed() {
    std::vector<std::vector<double>> away(recordings());
    for (size_t i = 0; i < items_.size(); ++i) {
      if (!TellsSpeed(items_[i])) continue;
      const double mean = MeanOf(logs_[i], 0, recordings());
      for (size_t r = 0; r < recordings(); ++r) away[r].push_back(logs_[i][r] - mean);
    }
    speed_items_ = away[0].size();
    if (speed_items_ < kFewestForSpeed || recordings() < 2) return;
    std::vector<double> speeds;
    for (std::vector<double>& values : away) speeds.push_back(Median(std::move(values)));
    const double before = MeanOf(speeds, sides_[0]);
    for (std::vector<double>& logs : logs_) {
      for (size_t r = 0; r < recordings(); ++r) logs[r] -= speeds[r] - before;
    }
    out_.speed = std::exp(MeanOf(speeds, sides_[1]) - before);
  }

  static double MeanOf(const std::vector<double>& values, size_t first, size_t last) {
    double sum = 0;
    for (size_t r = first; r < last; ++r) sum += values[r];
    return sum / static_cast<double>(last - first);
  }
  static double MeanOf(const std::vector<double>& values, const Side& side) {
    return MeanOf(values, side.first, side.last);
  }

  void MakeTables() {
    Table& instructions = tables_.emplace_back(&out_.rows);
    for (size_t i = 0; i < items_.size(); ++i) {
      const ComparedItem& item = items_[i];
      out_.rows.push_back({.module = modules_[item.module].name,
                           .instruction = item.instruction,
                           .opcode = item.opcode,
                           .source_line = item.source_line});
      instructions.members.push_back({i});
    }
    const auto by_module = [this](const std::string ComparedItem::* field) {
      return [this, field](const ComparedItem& item) {
        return (item.*field).empty() ? "" : modules_[item.module].name + ":" + item.*field;
      };
    };
    Group(out_.fusions, by_module(&ComparedItem::fusion), 2);
    Group(out_.categories, std::mem_fn(&ComparedItem::category), 1);
    Group(out_.source_lines, std::mem_fn(&ComparedItem::source_line), 1);
    Group(total_, [](const ComparedItem&) { return "all instructions"; }, 1);
    for (Table& table : tables_) {
      for (size_t k = 0; k < table.rows->size(); ++k) Sum(table.members[k], (*table.rows)[k]);
    }
    if (total_.empty()) return;
    out_.before = total_.front().before;
    out_.after = total_.front().after;
  }

  // Those of at least so many members: a fusion that is one instruction is in the first table.
  template <typename NameOf>
  void Group(std::vector<ComparedTime>& rows, NameOf name_of, size_t fewest) {
    std::map<std::string, std::vector<size_t>> groups;
    for (size_t i = 0; i < items_.size(); ++i) {
      const std::string name = name_of(items_[i]);
      if (!name.empty()) groups[name].push_back(i);
    }
    Table& table = tables_.emplace_back(&rows);
    for (auto& [name, members] : groups) {
      if (members.size() < fewest) continue;
      rows.push_back({.instruction = name, .members = members.size()});
      table.members.push_back(std::move(members));
    }
  }

  void Sum(const std::vector<size_t>& members, ComparedTime& row) const {
    std::array<double, 2> selfs{}, counts{};
    double recorded = 0;
    for (const size_t i : members) {
      for (size_t s = 0; s < 2; ++s) {
        const double size = sides_[s].weight();
        for (size_t r = sides_[s].first; r < sides_[s].last; ++r) {
          const RecordedItem& told = items_[i].recordings[r];
          const double self = static_cast<double>(told.self) / size;
          selfs[s] += self / ScaleOf(items_[i], r);
          recorded += s == 1 ? self : 0;
          (s == 0 ? row.before_count : row.after_count) += told.count;
        }
        counts[s] += counts_[s][i];
      }
    }
    row.before = std::llround(selfs[0]);
    row.after_scaled = selfs[1];
    row.after = std::llround(recorded);
    if (members.size() == 1 && counts[0] > 0 && counts[1] > 0) row.often = counts[1] / counts[0];
  }

  void Differences(Table& table) {
    for (size_t k = 0; k < table.members.size(); ++k) {
      const std::vector<size_t>& members = table.members[k];
      Difference difference;
      difference.only_after = (*table.rows)[k].before_count == 0;
      difference.only_before = (*table.rows)[k].after_count == 0;
      if (!difference.only_after && !difference.only_before)
        is_single() ? OfExecutions(members, difference) : OfRecordings(members, difference);
      table.differences.push_back(difference);
    }
    if (!is_single()) ShareVariances(table);
  }

  // What the members take together in a recording, as a logarithm.
  double TogetherIn(const std::vector<size_t>& members, size_t recording, size_t side) const {
    double sum = 0;
    for (const size_t i : members) {
      if (is_known_[side][i]) sum += counts_[side][i] * std::exp(logs_[i][recording]);
    }
    return std::log(sum);
  }
  // Whether nearly all that the members took is of those whose typical time is known.
  bool IsKnown(const std::vector<size_t>& members, size_t side) const {
    double all = 0, unknown = 0;
    for (const size_t i : members) {
      for (size_t r = sides_[side].first; r < sides_[side].last; ++r) {
        const RecordedItem& told = items_[i].recordings[r];
        all += static_cast<double>(told.self);
        if (!is_known_[side][i] || (is_single() && told.typical.freedom <= 0))
          unknown += static_cast<double>(told.self);
      }
    }
    return unknown <= kUnknownShare * all;
  }

  void OfExecutions(const std::vector<size_t>& members, Difference& out) const {
    if (!out_.speed || !IsKnown(members, 0) || !IsKnown(members, 1)) return;
    double variance = 0, by_freedom = 0;
    for (size_t s = 0; s < 2; ++s) {
      const double together = TogetherIn(members, s, s);
      (s == 0 ? out.before : out.after) = together;
      for (const size_t i : members) {
        const Estimate& typical = items_[i].recordings[s].typical;
        if (!is_known_[s][i] || typical.freedom <= 0) continue;
        const double share = counts_[s][i] * std::exp(logs_[i][s] - together);
        const double own = share * share * typical.variance;
        variance += own;
        by_freedom += own * own / typical.freedom;
      }
    }
    out.noise = {0, variance, variance * variance / by_freedom};
  }

  void OfRecordings(const std::vector<size_t>& members, Difference& out) const {
    if (!are_enough() || !IsKnown(members, 0) || !IsKnown(members, 1)) return;
    double squares = 0;
    for (size_t s = 0; s < 2; ++s) {
      std::vector<double> values;
      for (size_t r = sides_[s].first; r < sides_[s].last; ++r)
        values.push_back(TogetherIn(members, r, s));
      const double mean = MeanOf(values, 0, values.size());
      for (const double value : values) squares += (value - mean) * (value - mean);
      (s == 0 ? out.before : out.after) = mean;
    }
    const double freedom = static_cast<double>(recordings() - 2);
    // As within a recording, no clock resolves less than a tick.
    const double tick = kClockTick * static_cast<double>(members.size()) /
                        std::exp(TogetherIn(members, 0, 0)) * counts_[0][members.front()];
    out.noise = {0, squares / freedom + tick * tick / 12, freedom};
  }

  // Few recordings hardly show how far one row scatters: what all do is reported with it.
  void ShareVariances(Table& table) const {
    std::vector<Estimate> own;
    for (const Difference& difference : table.differences) own.push_back(difference.noise);
    const Estimate common = CommonVariance(own);
    const double fraction = 1 / sides_[0].weight() + 1 / sides_[1].weight();
    for (Difference& difference : table.differences) {
      Estimate& noise = difference.noise;
      if (noise.freedom <= 0) continue;
      const double freedom = noise.freedom + common.freedom;
      noise.variance =
          fraction * (noise.freedom * noise.variance + common.freedom * common.variance) / freedom;
      noise.freedom = freedom;
    }
  }

  // What single executions in the two recordings differ by that the noise inside them does not
  // explain. How often they ran is counted, not measured: it has no noise.
  void FindSpread() {
    std::vector<double> sizes;  // of differences, as many of their standard deviations
    std::vector<Difference> known;
    for (size_t i = 0; i < items_.size(); ++i) {
      Difference difference = tables_.front().differences[i];
      const Estimate& noise = difference.noise;
      if (noise.freedom <= 0) continue;
      difference.before -= std::log(counts_[0][i]);
      difference.after -= std::log(counts_[1][i]);
      known.push_back(difference);
      sizes.push_back(
          std::abs(NormalOf(difference.value() / std::sqrt(noise.variance), noise.freedom)));
    }
    if (known.empty()) return;
    const double chance = kGate / std::sqrt(static_cast<double>(known.size()));
    // The relative standard deviations of these two quantiles of normal samples.
    constexpr double kOfMiddle = 1.17, kOfNinth = 0.88;
    const double middle = QuantileOf(sizes, 0.5) / kMiddleOfNormal;
    const double ninth = QuantileOf(sizes, 0.9) / kNinthOfNormal;
    has_spread_ = middle > 1 + kOfMiddle * chance || ninth > 1 + kOfNinth * chance;
    spread_ = std::max(SpreadBy(known, 0.5, kMiddleOfNormal), SpreadBy(known, 0.9, kNinthOfNormal));
    if (has_spread_) out_.spread = std::expm1(spread_);
  }

  // The standard deviation that, with their noise, makes a quantile of the differences what it is
  // of a normal distribution.
  static double SpreadBy(const std::vector<Difference>& known, double share, double expected) {
    double low = 0, high = 10;
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      std::vector<double> sizes;
      for (const Difference& d : known)
        sizes.push_back(std::abs(d.value()) / std::sqrt(d.noise.variance + middle * middle));
      (QuantileOf(std::move(sizes), share) > expected ? low : high) = middle;
    }
    return low;
  }

  // How far the difference may be off, at this probability of an error.
  double ReachOf(const Difference& difference, double error) const {
    Estimate noise = difference.noise;
    const double items = static_cast<double>(std::max<size_t>(speed_items_, 1));
    // The median that the speed is, is itself as sure as this.
    if (out_.speed) noise.variance *= 1 + 1.57 / items;
    if (!is_single()) return StudentQuantile(error, noise.freedom) * std::sqrt(noise.variance);
    const double own = noise.variance, spread = spread_ * spread_;
    if (has_spread_) {
      const double of_noise = StudentQuantile(error, noise.freedom) * std::sqrt(own);
      return std::hypot(of_noise, StudentQuantile(error, kSpreadFreedom) * spread_);
    }
    noise.variance = own + spread;
    noise.freedom = noise.variance * noise.variance /
                    (own * own / noise.freedom + spread * spread / (items - 1));
    return StudentQuantile(error, noise.freedom) * std::sqrt(noise.variance);
  }

  void Judge() {
    for (const Table& table : tables_) {
      out_.judged += static_cast<size_t>(std::ranges::count_if(
          table.differences, [](const Difference& d) { return d.noise.freedom > 0; }));
    }
    const double error = kComparisonError / static_cast<double>(std::max<size_t>(out_.judged, 1));
    std::vector<double> reaches;
    for (Table& table : tables_) {
      for (size_t k = 0; k < table.differences.size(); ++k) {
        const Difference& difference = table.differences[k];
        ComparedTime& row = (*table.rows)[k];
        if (difference.only_before) row.verdict = Verdict::kOnlyBefore;
        if (difference.only_after) row.verdict = Verdict::kOnlyAfter;
        if (difference.noise.freedom <= 0) continue;
        const double value = difference.value(), reach = ReachOf(difference, error);
        row.ratio = {std::exp(value), std::exp(value - reach), std::exp(value + reach),
                     std::exp(difference.before), std::exp(difference.after)};
        row.verdict = value > reach    ? Verdict::kSlower
                      : value < -reach ? Verdict::kFaster
                                       : Verdict::kWithinNoise;
        if (&table == tables_.data()) reaches.push_back(reach);
      }
    }
    out_.told_from = std::expm1(Median(std::move(reaches)));
    if (!total_.empty()) out_.total = total_.front();
  }

  static double ShownChange(const ComparedTime& row) {
    return std::abs(row.ratio ? row.ratio->change() : row.change());
  }
  static void Sort(std::vector<ComparedTime>& rows) {
    std::ranges::stable_sort(rows, [](const ComparedTime& a, const ComparedTime& b) {
      if (a.is_named() != b.is_named()) return a.is_named();
      return ShownChange(a) > ShownChange(b);
    });
  }

  // Modules that both sides ran, but nothing says how often.
  void ExplainUnknownRuns() {
    std::vector<std::array<bool, 2>> ran(modules_.size());
    for (const ComparedItem& item : items_) {
      if (item.module >= ran.size()) continue;
      for (size_t r = 0; r < recordings(); ++r)
        ran[item.module][r < sides_[0].last ? 0 : 1] |= item.recordings[r].count > 0;
    }
    for (size_t m = 0; m < modules_.size(); ++m) {
      const ComparedRuns& runs = out_.modules[m];
      if ((runs.before > 0 && runs.after > 0) || !ran[m][0] || !ran[m][1]) continue;
      out_.notes.push_back(fmt::format(
          "how often {} ran is not known: no event is of an instruction that runs once in a run, "
          "outside of loops and branches; its times are compared as recorded",
          runs.module));
    }
  }

  void Explain() {
    ExplainUnknownRuns();
    constexpr std::string_view kRecord =
        "record each side several times (`profile MODULE --recordings 5 -o A.hloprof`) and compare "
        "all: `compare A.1.hloprof,A.2.hloprof,… B.1.hloprof,…`";
    if (is_single() && !out_.speed && !items_.empty()) {
      out_.notes.push_back(fmt::format(
          "{} ran {} times or more in both: {} such are needed to distinguish a "
          "change from the speed of the machine; run it more often, or {}",
          Counted(speed_items_, "instruction"), kFewestSamples, kFewestForSpeed, kRecord));
    } else if (!is_single() && !are_enough()) {
      out_.notes.push_back(
          fmt::format("{} and {} recordings: {} of each side are needed to distinguish a change "
                      "from the variation between recordings; or compare one with one",
                      out_.before_recordings, out_.after_recordings, kFewestRecordings));
    } else if (has_spread_) {
      out_.notes.push_back(fmt::format(
          "an instruction differs between these two by {:.1f} % typically, which the noise inside "
          "them does not explain: recordings of one program differ like this; to see less, {}",
          100 * out_.spread, kRecord));
    }
  }

  std::vector<ItemModule> modules_;
  std::vector<ComparedItem> items_;
  std::array<Side, 2> sides_;
  std::vector<std::vector<double>> counts_;  // by side and item, in runs of the first recording
  std::vector<std::vector<double>> logs_;    // by item and recording
  std::vector<std::vector<bool>> is_known_;  // by side and item
  size_t speed_items_ = 0;
  std::vector<Table> tables_;  // instructions first
  std::vector<ComparedTime> total_;
  double spread_ = 0;
  bool has_spread_ = false;
  ProfileComparison out_;
};

}  // namespace

std::string_view KeyOf(Verdict verdict) {
  switch (verdict) {
#define CHANGE_VERDICT(name, key, text) \
  case Verdict::name:                   \
    return key;
#include "profiler/change_verdicts.def"
#undef CHANGE_VERDICT
  }
  return "";
}

std::string_view ToString(Verdict verdict) {
  switch (verdict) {
#define CHANGE_VERDICT(name, key, text) \
  case Verdict::name:                   \
    return text;
#include "profiler/change_verdicts.def"
#undef CHANGE_VERDICT
  }
  return "";
}

Verdict Inverse(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSlower:
      return Verdict::kFaster;
    case Verdict::kFaster:
      return Verdict::kSlower;
    case Verdict::kOnlyBefore:
      return Verdict::kOnlyAfter;
    case Verdict::kOnlyAfter:
      return Verdict::kOnlyBefore;
    case Verdict::kWithinNoise:
    case Verdict::kTooFew:
      break;
  }
  return verdict;
}

std::string RunsText(const ProfileComparison& comparison, std::string_view second) {
  const auto has_ratio = [](const ComparedRuns& runs, double ratio) {
    return std::abs(runs.ratio() / ratio - 1) < 1e-9;
  };
  const auto have_ratio = [&](double ratio) {
    return std::ranges::all_of(comparison.modules,
                               [&](const ComparedRuns& runs) { return has_ratio(runs, ratio); });
  };
  if (have_ratio(1)) return {};
  if (have_ratio(comparison.runs)) {
    return fmt::format("{} ran {:.2f} times as often; its times are divided by that", second,
                       comparison.runs);
  }
  std::vector<std::string> texts;
  for (const ComparedRuns& runs : comparison.modules) {
    if (has_ratio(runs, 1)) continue;
    texts.push_back(
        fmt::format("{} ran {:g} and {:g} times", runs.module, runs.before, runs.after));
  }
  return fmt::format("times of {} are of as many runs of each module as the other has: {}", second,
                     fmt::join(texts, "; "));
}

ComparedRecording RecordingOf(const Profile& profile,
                              std::shared_ptr<const Attribution> attribution, bool reference) {
  std::set<int64_t> of_reference, programs;
  for (const auto& [key, value] : profile.environment) {
    if (key != kReferencePrograms) continue;
    std::istringstream words(value);
    for (int64_t program; words >> program;) of_reference.insert(program);
  }
  // Where there is none all count, also those of traces that do not number them.
  if (of_reference.empty() && !reference) return {std::move(attribution), {}};
  for (const AttributedModule& m : attribution->modules()) {
    if (of_reference.contains(m.program) == reference) programs.insert(m.program);
  }
  return {std::move(attribution), std::move(programs)};
}

Result<ProfileComparison> CompareProfiles(std::span<const ComparedRecording> before,
                                          std::span<const ComparedRecording> after, Jobs& jobs,
                                          const std::stop_token& stop) {
  std::vector<ComparedRecording> all(before.begin(), before.end());
  all.insert(all.end(), after.begin(), after.end());
  HLOSCOPE_ASSIGN_OR_RETURN(auto found, FindItems(all, jobs, stop));
  return Comparing(std::move(found), before.size(), after.size()).Compare();
}

}  // namespace hloscope::profiler
