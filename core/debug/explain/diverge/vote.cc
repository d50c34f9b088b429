#include "core/debug/explain/diverge/vote.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace hloscope::debug {
namespace {

// The first result that differs; nullopt where all agree that both have.
std::optional<LeafComparison> FirstDifference(const RunReport& a, const RunReport& b,
                                              const BoundsRequest& bounds) {
  for (size_t i = 0; i < std::min(a.outputs.size(), b.outputs.size()); ++i) {
    const RunOutput &x = a.outputs[i], &y = b.outputs[i];
    if (x.missing || y.missing || !x.value.shape().IsArray()) continue;
    LeafComparison leaf = CompareArrays(x.value, y.value, bounds);
    if (!leaf.equal()) return leaf;
  }
  return std::nullopt;
}

std::string Words(const std::string& third, const std::string& one, bool with_one,
                  const std::string& other, bool with_other) {
  if (with_one && with_other) return fmt::format("{} is within the bounds of both", third);
  if (!with_one && !with_other) return fmt::format("{} differs from both", third);
  return fmt::format("{} and {} agree, {} is alone", third, with_one ? one : other,
                     with_one ? other : one);
}

}  // namespace

void TakeVote(DivergeVerdict& verdict, const std::shared_ptr<const hlo::Module>& module,
              const RunSpec& request, const std::string& third, const std::stop_token& stop) {
  if (verdict.status != RunStatus::kDiffers) return;
  RunSpec plain = request;
  plain.compare.isolate = plain.compare.precise = false;
  plain.repeats.iterations = plain.repeats.runs = 1;
  const RunReport platform = RunModule(module, plain, stop);
  plain.test = {.name = third, .run_passes = request.test.run_passes};
  plain.inputs = plain.inputs.With(platform.arguments);
  const RunReport voice = RunModule(module, plain, stop);
  DivergeTry attempt{fmt::format("a vote of three: {}", third), {}, ""};
  if (platform.error || voice.error) {
    attempt.detail = (voice.error ? voice.error : platform.error)->message;
  } else {
    const bool with_platform = !FirstDifference(voice, platform, request.compare.bounds);
    const bool with_reference = std::ranges::all_of(voice.outputs, [](const RunOutput& output) {
      return !output.compared || output.comparison.equal();
    });
    attempt.closes = with_reference && !with_platform;
    attempt.detail =
        Words(third, request.test.name, with_platform, request.reference.name, with_reference);
    verdict.sentence += "; " + attempt.detail;
  }
  verdict.tries.push_back(std::move(attempt));
}

}  // namespace hloscope::debug
