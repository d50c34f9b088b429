// Memory, work and who is told of it.
#include "tests/fake_cuda/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <set>
#include <span>

namespace fake_cuda {

State& State::Get() {
  // Outlives whoever gives things back at the very end.
  static State* const state = new State;
  return *state;
}

uint64_t Now() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

bool LosesDevice(int result) {
  constexpr int kLosing[] = {4,   214, 220, 226, 700, 702, 709, 710,
                             714, 715, 716, 717, 718, 719, 999};
  return std::ranges::find(kLosing, result) != std::end(kLosing);
}

std::span<std::byte> State::At(uint64_t address, int device) {
  auto after = memory.upper_bound(address);
  if (after == memory.begin()) return {};
  auto& [begin, lies] = *std::prev(after);
  const uint64_t offset = address - begin;
  if (offset >= lies.bytes.size() || (device != kAnyDevice && device != lies.device)) return {};
  return std::span(lies.bytes).subspan(offset);
}

int64_t State::UsedMemory(int device) const {
  int64_t used = 0;
  for (const auto& [address, lies] : memory) {
    if (device == kAnyDevice || lies.device == device) used += std::ssize(lies.bytes);
  }
  return used;
}

bool State::IsPinned(const void* host, size_t size) const {
  const auto after = pinned.upper_bound(host);
  if (after == pinned.begin()) return false;
  const auto& [begin, bytes] = *std::prev(after);
  const auto offset = static_cast<size_t>(static_cast<const std::byte*>(host) -
                                          static_cast<const std::byte*>(begin));
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

void State::Tell(FakeCudaActivity activity) const {
  activity.context = activity.device + 1;
  if (listener.activity != nullptr) listener.activity(listener.user, &activity);
}

bool State::IsTooNew(const char* ptx) const {
  const char* const found = std::strstr(ptx, ".version ");
  int major = 0, minor = 0;
  if (found == nullptr || std::sscanf(found, ".version %d.%d", &major, &minor) != 2) return false;
  const auto version = static_cast<int>(faults.Property("version", 13000));
  const int cuda_minor = version % 1000 / 10;
  // One came with each CUDA, but none with 12.6.
  const int newest =
      version >= 13000 ? 90 + cuda_minor : 80 + cuda_minor - (cuda_minor > 5 ? 1 : 0);
  return 10 * major + minor > newest;
}

uint64_t State::NewNode(uint64_t original) {
  const uint64_t number = ++nodes;
  if (listener.node != nullptr) listener.node(listener.user, number, original);
  return number;
}

void State::Spend(std::string_view kernel) {
  spent_ns += static_cast<uint64_t>(faults.Property(fmt::format("{}_us", kernel), 0)) * 1000;
}

uint64_t State::MarkedTime() {
  if (faults.Property("own_clock", 0) != 0) return spent_ns;
  const auto apart_us = static_cast<uint64_t>(faults.Property("event_us", 0));
  if (apart_us == 0) return Now();
  const auto gap_s = static_cast<uint64_t>(faults.Property("event_gap_s", 0));
  ++marks;
  return marks * apart_us * 1000 + (marks > 1 ? gap_s * 1'000'000'000 : 0);
}

namespace {

// A parameter that is an address gets what lies there, down to the end of the allocation.
hloscope::ptx::Argument ArgumentOf(State& state, const std::vector<std::byte>& bytes, int device) {
  uint64_t address = 0;
  if (bytes.size() == sizeof address) {
    std::memcpy(&address, bytes.data(), sizeof address);
    if (const auto memory = state.At(address, device); !memory.empty()) return {memory, {}};
  }
  return {{}, bytes};
}

int Execute(const CUfunc_st& function, const hloscope::ptx::LaunchRequest& request,
            FakeCudaActivity& activity, std::vector<FakeCudaLine>& lines) {
  State& state = State::Get();
  ++state.launches;
  state.Spend("kernel");
  for (const std::string& name :
       {std::string("kernel"), fmt::format("kernel@{}", activity.device)}) {
    if (const int fault = state.faults.Next(name); fault != 0) return fault;
  }
  hloscope::ptx::LaunchOptions options;
  options.count_lines = true;
  const auto result = hloscope::ptx::Launch(function.module->code, request, options);
  if (!result.has_value()) return kInvalidValue;
  const hloscope::ptx::Counters& counters = result->counters;
  activity.global_read_bytes = counters.global_read_bytes;
  activity.global_written_bytes = counters.global_written_bytes;
  activity.warp_instructions = counters.warp_instructions;
  activity.thread_instructions = counters.threads();
  activity.tensor_instructions = counters.tensor;
  for (const auto& counted : result->lines) lines.push_back({counted.line, counted.warps});
  activity.lines = lines.data();
  activity.line_count = lines.size();
  return result->fault ? kIllegalAddress : 0;
}

}  // namespace

Work KernelWork(const CUfunc_st& function, std::array<uint32_t, 3> grid,
                std::array<uint32_t, 3> block, uint32_t shared_bytes,
                std::vector<std::vector<std::byte>> parameters, const CUstream_st& on) {
  return [=, &function, device = on.device, stream = on.number](uint32_t correlation,
                                                                uint32_t graph, uint64_t node) {
    State& state = State::Get();
    hloscope::ptx::LaunchRequest request;
    request.entry = function.entry->name;
    request.grid = grid;
    request.block = block;
    request.dynamic_shared_bytes = shared_bytes;
    for (const auto& bytes : parameters)
      request.arguments.push_back(ArgumentOf(state, bytes, device));
    FakeCudaActivity activity{};
    activity.kind = kFakeCudaKernel;
    activity.device = static_cast<uint32_t>(device);
    activity.start_ns = Now();
    std::vector<FakeCudaLine> lines;
    const int result = Execute(function, request, activity, lines);
    activity.end_ns = Now();
    if (const int64_t us = state.faults.Property("kernel_us", 0); us > 0) {
      activity.start_ns = std::max(activity.start_ns, state.busy_until[stream]);
      activity.end_ns = activity.start_ns + static_cast<uint64_t>(us) * 1000;
      state.busy_until[stream] = activity.end_ns;
    }
    activity.correlation = correlation;
    activity.stream = stream;
    activity.graph = graph;
    activity.graph_node = node;
    activity.kernel = function.entry->name.c_str();
    std::ranges::copy(grid, activity.grid);
    std::ranges::copy(block, activity.block);
    activity.registers = 32;
    activity.static_shared_bytes = static_cast<uint32_t>(function.entry->static_shared_bytes);
    activity.dynamic_shared_bytes = shared_bytes;
    state.Tell(activity);
    return result;
  };
}

Work LibraryWork(std::string name, void (*work)(void*), std::shared_ptr<void> data,
                 const CUstream_st& on) {
  // Whoever records a kernel reads its name later.
  static auto* const names = new std::set<std::string>;
  const std::string& kept = *names->insert(std::move(name)).first;
  return [=, &kept, device = on.device, stream = on.number](uint32_t correlation, uint32_t graph,
                                                            uint64_t node) {
    FakeCudaActivity activity{};
    activity.kind = kFakeCudaKernel;
    activity.device = static_cast<uint32_t>(device);
    activity.start_ns = Now();
    State::Get().Spend(kept);
    work(data.get());
    activity.end_ns = Now();
    activity.correlation = correlation;
    activity.stream = stream;
    activity.graph = graph;
    activity.graph_node = node;
    activity.kernel = kept.c_str();
    for (uint32_t* const size : {activity.grid, activity.block}) std::fill_n(size, 3, 1u);
    activity.registers = 32;
    State::Get().Tell(activity);
    return 0;
  };
}

}  // namespace fake_cuda
