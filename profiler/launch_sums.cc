#include "profiler/launch_sums.h"

#include <algorithm>

namespace hloscope::profiler {
namespace {

void AddEvent(std::span<const Argument> arguments, const LaunchFigures& figures, LaunchSums& sums) {
  ++sums.launches;
  sums.figures.Add(figures);
  for (const Argument& argument : arguments) {
    if (argument.name == kModelTimeArgument) sums.model_us += NumberOf(argument).value_or(0);
    if (argument.name == kModelPeakArgument) sums.model_peak_us += NumberOf(argument).value_or(0);
    const auto* text = std::get_if<std::string>(&argument.value);
    if (text == nullptr) continue;
    if (argument.name == kModelBoundArgument) sums.bound = *text;
    if (argument.name == kModelDeviceArgument) sums.model_device = *text;
  }
}

}  // namespace

Result<std::vector<LaunchSums>> LaunchSumsOf(const Attribution& attribution,
                                             const std::stop_token& stop) {
  constexpr uint32_t kBetweenQuestions = 1 << 12;
  const EventStore& store = attribution.store();
  const auto times = attribution.times();
  const bool has_any = std::ranges::any_of(times, [&](const InstructionTime& time) {
    const auto arguments = store.Arguments(time.longest);
    return FiguresOf(arguments) || MetricsOf(arguments) || PtxLinesOf(arguments);
  });
  if (!has_any) return std::vector<LaunchSums>();
  std::vector<LaunchSums> sums(times.size());
  for (uint32_t e = 0; e < store.size(); ++e) {
    if (e % kBetweenQuestions == 0 && stop.stop_requested()) {
      return std::unexpected(Error{ErrorClass::kCancelled, "stopped on request", {}, {}});
    }
    const Target target = attribution.TargetOf(EventId(e));
    if (!target.valid()) continue;
    const InstructionTime* time = attribution.TimeOf(target.module, target.instruction);
    if (time == nullptr) continue;
    const std::vector<Argument> arguments = store.Arguments(EventId(e));
    LaunchSums& own = sums[static_cast<size_t>(time - times.data())];
    if (const auto figures = FiguresOf(arguments)) AddEvent(arguments, *figures, own);
    if (const auto metrics = MetricsOf(arguments)) {
      own.metrics.Add(*metrics, store.duration(EventId(e)));
    }
    if (const auto lines = PtxLinesOf(arguments)) own.lines.Add(*lines);
  }
  return sums;
}

}  // namespace hloscope::profiler
