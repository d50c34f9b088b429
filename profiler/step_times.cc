#include "profiler/step_times.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <variant>

namespace hloscope::profiler {
namespace {

constexpr std::string_view kStepNumber = "step_num", kGroupId = "group_id";
constexpr std::string_view kNoName = "step";

// "train 12" is step 12 of "train"; "12" that of nothing named.
std::optional<int64_t> TakeNumberAtEnd(std::string_view& name) {
  const size_t end = name.find_last_not_of("0123456789");
  const std::string_view digits = name.substr(end == name.npos ? 0 : end + 1);
  int64_t number = 0;
  const auto [last, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || error != std::errc()) return std::nullopt;
  name.remove_suffix(digits.size());
  while (name.ends_with(' ') || name.ends_with(':')) name.remove_suffix(1);
  return number;
}

std::optional<int64_t> ArgumentOf(const EventStore& store, EventId e, std::string_view name) {
  for (const Argument& argument : store.Arguments(e)) {
    if (argument.name != name) continue;
    const std::optional<double> number = NumberOf(argument);
    // Traces in JSON that XLA wrote have each argument as text.
    if (const auto* text = std::get_if<std::string>(&argument.value)) {
      std::string_view rest = *text;
      if (const auto whole = TakeNumberAtEnd(rest); whole && rest.empty()) return whole;
    }
    if (number && *number >= 0 && *number < 9e15) return static_cast<int64_t>(*number);
  }
  return std::nullopt;
}

class Steps {
 public:
  explicit Steps(const EventStore& store) : store_(store) {}

  void Add(std::string_view name, int64_t number, EventId e) {
    const int64_t start = store_.start(e);
    const auto [at, is_first] =
        steps_.try_emplace({std::string(name), number},
                           StepTime{std::string(name), number, start, store_.duration(e)});
    if (is_first) return;
    StepTime& step = at->second;
    const int64_t end = std::max(step.start + step.duration, store_.end(e));
    step.start = std::min(step.start, start);
    step.duration = end - step.start;
  }

  // Of events of threads with that argument. Arguments are read for the first event of a name only:
  // a profile has as many events as it has names of steps, and many times more of others.
  void AddMarked(std::string_view argument) {
    std::map<NameId, bool> marks;  // by name: whether its events have it
    for (const Lane& lane : store_.lanes()) {
      if (lane.role != LaneRole::kThread) continue;
      for (uint32_t i = lane.first_event; i < lane.first_event + lane.event_count; ++i) {
        const EventId e(i);
        const NameId name = store_.name(e);
        const auto [mark, is_new] = marks.try_emplace(name, false);
        if (is_new) mark->second = ArgumentOf(store_, e, argument).has_value();
        if (!mark->second) continue;
        const std::optional<int64_t> number = ArgumentOf(store_, e, argument);
        if (number) Add(argument == kGroupId ? kNoName : store_.text(name), *number, e);
      }
    }
  }

  // Of the lines that profilers derive for devices: each event is a step.
  void AddLines() {
    for (const Lane& lane : store_.lanes()) {
      if (lane.role != LaneRole::kSteps) continue;
      for (uint32_t i = lane.first_event; i < lane.first_event + lane.event_count; ++i) {
        const EventId e(i);
        std::string_view name = store_.text(store_.name(e));
        std::optional<int64_t> number = TakeNumberAtEnd(name);
        if (!number) number = ArgumentOf(store_, e, kGroupId);
        if (number) Add(name.empty() ? kNoName : name, *number, e);
      }
    }
  }

  std::vector<StepTime> Take() {
    std::vector<StepTime> out;
    for (auto& [key, step] : steps_) out.push_back(std::move(step));
    std::ranges::stable_sort(out, {}, &StepTime::start);
    return out;
  }

 private:
  const EventStore& store_;
  std::map<std::pair<std::string, int64_t>, StepTime> steps_;
};

}  // namespace

std::string_view ToString(StepSource source) {
  switch (source) {
    case StepSource::kStepNumber:
      return kStepNumber;
    case StepSource::kStepsLine:
      return "steps line";
    case StepSource::kGroup:
      return kGroupId;
  }
  return {};
}

StepTimes StepTimesOf(const EventStore& store) {
  for (const StepSource source :
       {StepSource::kStepNumber, StepSource::kStepsLine, StepSource::kGroup}) {
    Steps steps(store);
    if (source == StepSource::kStepsLine) {
      steps.AddLines();
    } else {
      steps.AddMarked(source == StepSource::kStepNumber ? kStepNumber : kGroupId);
    }
    if (std::vector<StepTime> found = steps.Take(); !found.empty()) return {source, found};
  }
  return {};
}

}  // namespace hloscope::profiler
