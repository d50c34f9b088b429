// The slice of an access, as a list of lines.
#include "core/backends/gpusim/lines_behind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/base/counted.h"
#include "core/ptx/trace/slice.h"

namespace hloscope::replay {
namespace {

// The memory of arguments, put back at the end.
class KeptMemory {
 public:
  explicit KeptMemory(const ptx::LaunchRequest& request) : request_(request) {
    for (const ptx::Argument& argument : request.arguments)
      bytes_.emplace_back(argument.memory.begin(), argument.memory.end());
  }
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;
  ~KeptMemory() { Restore(); }

  void Restore() const {
    for (size_t i = 0; i < bytes_.size(); ++i)
      std::ranges::copy(bytes_[i], request_.arguments[i].memory.begin());
  }

 private:
  const ptx::LaunchRequest& request_;
  std::vector<std::vector<std::byte>> bytes_;
};

struct FoundAccess {
  Place place;
  std::array<uint32_t, 3> block{}, thread{};
  std::optional<ptx::TracedSpace> space;
  std::optional<uint32_t> argument;
  uint64_t byte = 0;
  bool is_fault = false;
};

// Lines by the distance of the nearest step, of one access after the other.
class LinesOfAccesses {
 public:
  LinesOfAccesses(const ptx::Module& module, const ptx::LaunchRequest& request,
                  ptx::LaunchOptions options)
      : module_(module), request_(request), options_(std::move(options)), memory_(request) {
    options_.checks = {};
    options_.shuffle.reset();
  }

  Status Add(const FoundAccess& access) {
    const auto& [x, y, z] = access.thread;
    const uint32_t thread = x + request_.block[0] * (y + request_.block[1] * z);
    const auto find = [&](const ptx::BlockTrace& trace, const ptx::ControlFlow&) {
      if (access.is_fault && !(trace.fault && trace.fault->place.line == access.place.line))
        return std::vector<ptx::StepRef>();
      const ptx::StepRef step =
          ptx::LastAt(trace, thread, access.place, access.space, access.argument, access.byte);
      return step.step < 0 ? std::vector<ptx::StepRef>() : std::vector{step};
    };
    HLOSCOPE_ASSIGN_OR_RETURN(const ptx::SlicedTrace sliced,
                              ptx::TraceSliceFrom(
                                  module_, request_, access.block, thread, options_,
                                  [&] { memory_.Restore(); }, find, kMaxThreads));
    for (const ptx::SliceStep& step : sliced.slice.steps) {
      const ptx::TracedStep& at = sliced.trace.Find(step.step.thread)->at(step.step.step);
      const uint32_t line = sliced.trace.instructions[at.instruction].line;
      const auto [known, is_new] = distances_.try_emplace(line, step.distance);
      if (!is_new) known->second = std::min(known->second, step.distance);
    }
    return {};
  }

  std::string Text() const {
    std::vector<std::pair<uint32_t, uint32_t>> order;
    for (const auto& [line, distance] : distances_) {
      if (distance > 0) order.emplace_back(distance, line);
    }
    if (order.empty()) return "";
    // Of equals the one further down is nearer.
    std::ranges::sort(order, [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    std::vector<uint32_t> lines;
    for (size_t i = 0; i < std::min(order.size(), kMaxLines); ++i) lines.push_back(order[i].second);
    const std::string all =
        lines.size() == order.size() ? "" : fmt::format(", of {} the nearest", order.size());
    return fmt::format("; comes from {} {}{}", lines.size() == 1 ? "line" : "lines",
                       fmt::join(lines, ", "), all);
  }

 private:
  static constexpr size_t kMaxLines = 16;
  static constexpr size_t kMaxThreads = 16;

  const ptx::Module& module_;
  const ptx::LaunchRequest& request_;
  ptx::LaunchOptions options_;
  KeptMemory memory_;
  std::map<uint32_t, uint32_t> distances_;  // of lines
};

std::string WordsFor(std::initializer_list<std::optional<FoundAccess>> accesses,
                     const ptx::Module& module, const ptx::LaunchRequest& request,
                     const ptx::LaunchOptions& options) {
  LinesOfAccesses lines(module, request, options);
  for (const std::optional<FoundAccess>& access : accesses) {
    if (!access) continue;
    if (const Status added = lines.Add(*access); !added)
      return "; the lines that led there are not known: " + added.error().message;
  }
  return lines.Text();
}

}  // namespace

std::string LinesBehind(const ptx::Finding& finding, const ptx::Module& module,
                        const ptx::LaunchRequest& request, const ptx::LaunchOptions& options) {
  std::optional<ptx::TracedSpace> space;
  if (finding.argument)
    space = ptx::TracedSpace::kArgument;
  else if (finding.memory == "shared memory")
    space = ptx::TracedSpace::kShared;
  const auto access = [&](const ptx::FindingSide& side) {
    return FoundAccess{side.place,       side.block,   side.thread, space,
                       finding.argument, finding.byte, false};
  };
  std::optional<FoundAccess> other;
  if (finding.other) other = access(*finding.other);
  return WordsFor({access(finding.at), other}, module, request, options);
}

std::string LinesBehind(const ptx::Fault& fault, const ptx::Module& module,
                        const ptx::LaunchRequest& request, const ptx::LaunchOptions& options) {
  return WordsFor({FoundAccess{fault.place, fault.block, fault.thread, {}, {}, 0, true}}, module,
                  request, options);
}

}  // namespace hloscope::replay
