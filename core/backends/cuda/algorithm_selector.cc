#include "core/backends/cuda/algorithm_selector.h"

#include <algorithm>

#include "core/backends/cuda/library_timing.h"

namespace hloscope::replay::cuda {
namespace {

constexpr std::string_view kRule = "rule", kMeasured = "measured", kCache = "cache",
                           kBundle = "bundle";

std::string Versions(const libraries::AutotuneResult& of) {
  return fmt::format("{} {} and CUDA {} on {} ({}.{})", of.key.library, of.version,
                     VersionText(of.driver), of.key.device, of.key.capability / 10,
                     of.key.capability % 10);
}

// "12.3 us, the next, proposal 1, 20.1 us".
std::string TimesText(double time_us, const std::vector<AlgorithmRecord::Tried>& tried,
                      std::string_view way) {
  std::string out = fmt::format("{:.1f} us", time_us);
  const AlgorithmRecord::Tried* next = nullptr;
  for (const AlgorithmRecord::Tried& each : tried) {
    const bool is_better = each.way != way && each.refused.empty() &&
                           (next == nullptr || each.time_us < next->time_us);
    if (is_better) next = &each;
  }
  if (next != nullptr) out += fmt::format(", the next, {}, {:.1f} us", next->way, next->time_us);
  return out;
}

}  // namespace

Result<size_t> TakeCandidate(const Library& library, std::span<const AlgorithmCandidate> proposals,
                             std::string_view way) {
  const AlgorithmCandidate* refused = nullptr;
  for (size_t i = 0; i < proposals.size(); ++i) {
    if (!way.empty() && proposals[i].name != way) continue;
    if (proposals[i].refused.empty()) return i;
    refused = &proposals[i];
  }
  if (refused != nullptr) return UnsupportedError(refused->refused);
  return UnsupportedError(
      fmt::format("{}: {} is not among its candidates any more", library.row().name, way));
}

Result<std::shared_ptr<const AlgorithmSelector>> AlgorithmSelector::Make(
    const RunOptions& options) {
  std::shared_ptr<AlgorithmSelector> out(new AlgorithmSelector(options.load.autotune_mode));
  HLOSCOPE_ASSIGN_OR_RETURN(out->given_, libraries::ReadTable(options.load.choices, "choices.tsv"));
  return out;
}

std::optional<libraries::AutotuneResult> AlgorithmSelector::Known(const AutotuneResult& here,
                                                                  AlgorithmRecord& way) const {
  const AutotuneResult* other = nullptr;
  for (const AutotuneResult& given : given_) {
    const bool is_of_form = given.key.library == here.key.library &&
                            given.key.opcode == here.key.opcode && given.key.form == here.key.form;
    if (!is_of_form) continue;
    if (autotune_mode_ == AutotuneMode::kByTime) {
      way.notes.push_back(fmt::format(
          "the bundle's autotune result, {}, is not used: --autotune measures again", given.way));
      return std::nullopt;
    }
    if (given.FitsTo(here)) {
      AutotuneResult out = given;
      out.from = kBundle;
      return out;
    }
    other = &given;
  }
  if (other != nullptr) {
    way.notes.push_back(
        fmt::format("the bundle's autotune result, {}, is for {}, here is {}: not used", other->way,
                    Versions(*other), Versions(here)));
  }
  if (autotune_mode_ != AutotuneMode::kFromCache) return std::nullopt;
  std::string why;
  auto kept = cache_.Load(here.key, why);
  if (!why.empty()) {
    way.notes.push_back(why + ": not used (fix: --autotune measures again)");
  }
  if (!kept) return std::nullopt;
  if (!kept->FitsTo(here)) {
    way.notes.push_back(
        fmt::format("the cached autotune result, {}, is for {}, here is {}: not used (fix: "
                    "--autotune measures again)",
                    kept->way, Versions(*kept), Versions(here)));
    return std::nullopt;
  }
  kept->from = kCache;
  return kept;
}

Result<libraries::AutotuneResult> AlgorithmSelector::Measure(
    const AlgorithmRequest& order, const AlgorithmCandidates& offer, const DeviceCode& own,
    int64_t scratch_bytes, AutotuneResult here, AlgorithmRecord& way) const {
  const std::string key = libraries::RowOf(here);
  const std::lock_guard lock(mutex_);
  if (const auto found = measured_.find(key); found != measured_.end()) {
    way.tried = found->second.second;
    return found->second.first;
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const LibraryTiming timing,
                            LibraryTiming::Make(order.device, own.instruction().arrays));
  double best_us = 0;
  const auto take = [&](std::string name, const Result<double>& us) -> Status {
    AlgorithmRecord::Tried& tried = way.tried.emplace_back();
    tried.way = std::move(name);
    if (us.has_value()) {
      tried.time_us = *us;
      if (here.way.empty() || *us < best_us) {
        best_us = *us;
        here.way = tried.way;
      }
      return {};
    }
    tried.refused = ReasonOf(us.error());
    if (us.error().error_class == ErrorClass::kUnsupported) return {};
    return std::unexpected(us.error());
  };
  const auto measure_work = [&](std::string_view name) -> Result<double> {
    HLOSCOPE_ASSIGN_OR_RETURN(const auto work, offer.make(name));
    return timing.Measure(
        [&](StreamHandle stream, std::span<const Address> addresses) {
          return work->Enqueue(stream, addresses);
        },
        work->scratch_bytes(), best_us);
  };
  if (const auto first = offer.make({}); first.has_value()) {
    for (const AlgorithmCandidate& proposal : (*first)->proposals()) {
      const Result<double> us = proposal.refused.empty() ? measure_work(proposal.name)
                                                         : UnsupportedError(proposal.refused);
      HLOSCOPE_TRY(take(proposal.name, us));
    }
  } else {
    HLOSCOPE_TRY(take(here.key.library, std::unexpected(first.error())));
  }
  HLOSCOPE_TRY(
      take(std::string(kOwnWay), timing.Measure(
                                     [&](StreamHandle stream, std::span<const Address> addresses) {
                                       return own.Launch(stream, addresses);
                                     },
                                     scratch_bytes, best_us)));
  if (here.way.empty()) here.way = kOwnWay;
  here.from = kMeasured;
  here.time_us = best_us;
  measured_[key] = {here, way.tried};
  cache_.Store(here);
  return here;
}

Result<AlgorithmSelector::Chosen> AlgorithmSelector::Choose(const AlgorithmRequest& order,
                                                            const AlgorithmCandidates& offer,
                                                            const DeviceCode& own,
                                                            int64_t scratch_bytes) const {
  const Library& library = *order.library;
  Chosen out;
  AlgorithmSelection& choice = out.choice;
  choice.library = fmt::format("{} {}", library.row().name, library.version());
  const auto by_rule = [&]() -> Result<Chosen> {
    if (!offer.why_ours.empty()) {
      choice.reason = offer.why_ours;
      return out;
    }
    auto work = offer.make({});
    if (!work.has_value()) {
      choice.reason = ReasonOf(work.error());
      return out;
    }
    out.work = *std::move(work);
    return out;
  };
  if (offer.form.empty()) return by_rule();

  AutotuneResult here{.key = {.device = order.device->name(),
                              .capability = order.device->capability(),
                              .library = std::string(library.row().name),
                              .opcode = std::string(hlo::ToString(order.module[order.id].opcode)),
                              .form = offer.form},
                      .driver = order.device->driver().version(),
                      .version = library.version(),
                      .way = {},
                      .from = {}};
  AlgorithmRecord& way = choice.way;
  std::optional<AutotuneResult> known = Known(here, way);
  if (!known && autotune_mode_ == AutotuneMode::kByTime) {
    auto measured = Measure(order, offer, own, scratch_bytes, here, way);
    if (measured.has_value()) {
      known = *std::move(measured);
    } else if (measured.error().error_class == ErrorClass::kEnvironment) {  // no memory for it
      way.notes.push_back("not measured: " + ReasonOf(measured.error()));
    } else {
      return std::unexpected(measured.error());
    }
  }
  if (known && known->way != kOwnWay) {
    auto work = offer.make(known->way);
    if (work.has_value()) {
      out.work = *std::move(work);
    } else {
      way.notes.push_back(fmt::format("the autotune result of the {}, {}, is not used: {}",
                                      known->from, known->way, ReasonOf(work.error())));
      known.reset();
    }
  }
  if (known) {
    way.way = known->way;
    way.from = known->from;
    way.time_us = known->time_us;
    if (out.work == nullptr) {
      choice.reason = known->from == kMeasured
                          ? "it is the fastest: " + TimesText(known->time_us, way.tried, kOwnWay)
                          : fmt::format("the {} says so", known->from);
    }
    here.way = known->way;
    here.time_us = known->time_us;
    here.from = known->from == kBundle || known->from == kCache ? kMeasured : known->from;
    if (known->time_us == 0) here.from = kRule;
  } else {
    HLOSCOPE_TRY(by_rule());
    way.from = kRule;
    here.way = way.way = kOwnWay;
    here.from = kRule;
    if (out.work != nullptr) {
      const std::vector<AlgorithmCandidate> all = out.work->proposals();
      here.way = all[out.work->taken()].name;
      way.way = "the library's first candidate";
      for (size_t i = 0; i < out.work->taken(); ++i) {
        way.way = "the library's first candidate that is not refused";
        way.notes.push_back(fmt::format("{} is refused: {}", all[i].name, all[i].refused));
      }
    }
  }
  choice.row = libraries::RowOf(here);
  return out;
}

}  // namespace hloscope::replay::cuda
