// Options, capture plans and events as fields and data, both ways.
#include <array>
#include <utility>

#include "core/hlo/module_image.h"
#include "core/replay/workers/worker_protocol.h"

namespace hloscope::replay {

void Archive(ByteWriter& out, const CaptureItem& item) {
  out(item.scope, item.form, item.instructions);
}
void Archive(ByteReader& in, CaptureItem& item) {
  in(item.scope, item.form, item.instructions);
  if (item.scope > CaptureScope::kAll || item.form > CaptureForm::kStatistics) in.Fail();
}
void Archive(ByteWriter& out, const SearchRequest& search) { out(search.name, search.request); }
void Archive(ByteReader& in, SearchRequest& search) { in(search.name, search.request); }

void Archive(ByteWriter& out, const TraceSlice& slice) {
  out(slice.name, slice.lane, slice.start_ns, slice.duration_ns);
}
void Archive(ByteReader& in, TraceSlice& slice) {
  in(slice.name, slice.lane, slice.start_ns, slice.duration_ns);
  if (slice.duration_ns < 0) in.Fail();
}

void Archive(ByteWriter& out, const TracedKernel& kernel) {
  out(kernel.name, kernel.file, kernel.line, kernel.blocks, kernel.threads,
      kernel.static_shared_bytes, kernel.dynamic_shared_bytes);
}
void Archive(ByteReader& in, TracedKernel& kernel) {
  in(kernel.name, kernel.file, kernel.line, kernel.blocks, kernel.threads,
     kernel.static_shared_bytes, kernel.dynamic_shared_bytes);
}

void Archive(ByteWriter& out, const TracedLaunch& launch) {
  out(launch.step, launch.kernel, launch.bound, launch.model_us, launch.figures, launch.lines);
}
void Archive(ByteReader& in, TracedLaunch& launch) {
  in(launch.step, launch.kernel, launch.bound, launch.model_us, launch.figures, launch.lines);
}

namespace {

using hlo::Literal;

void Put(ValueWriter& out, const CapturePlan& plan) {
  out.Put(plan.stage, plan.results, plan.items, plan.search, plan.until.has_value());
  if (plan.until) out.Put(plan.until->instruction, plan.until->execution);
}

void Get(ValueReader& in, CapturePlan& plan) {
  plan.stage = in.Get<uint64_t>();
  plan.results = in.Get<CaptureForm>();
  plan.items = in.Get<decltype(plan.items)>();
  plan.search = in.Get<decltype(plan.search)>();
  if (in.Get<bool>()) {
    plan.until.emplace();
    plan.until->instruction = in.Get<hlo::InstructionId>();
    plan.until->execution = in.Get<int64_t>();
  }
  if (plan.results > CaptureForm::kStatistics) in.Fail();
}

void Put(ValueWriter& out, const LeafResult& event) {
  out.Put(event.device, event.leaf);
  out.PutResult(event.value);
}
void Get(ValueReader& in, LeafResult& event) {
  event.device = in.Get<int64_t>();
  event.leaf = in.Get<int64_t>();
  event.value = in.GetResult();
}

void Put(ValueWriter& out, const CapturedValue& event) {
  out.PutKey(event.key);
  out.Put(static_cast<uint8_t>(event.value.index()));
  if (const auto* literal = std::get_if<Literal>(&event.value)) out.PutLiteral(*literal);
  if (const auto* hash = std::get_if<uint64_t>(&event.value)) out.Put(*hash);
  if (const auto* numbers = std::get_if<ValueStatistics>(&event.value)) out.Put(*numbers);
  if (const auto* error = std::get_if<Error>(&event.value)) out.PutError(*error);
}
void Get(ValueReader& in, CapturedValue& event) {
  event.key = in.GetKey();
  switch (in.Get<uint8_t>()) {
    case 0:
      event.value = in.GetLiteral();
      return;
    case 1:
      event.value = in.Get<uint64_t>();
      return;
    case 2:
      event.value = in.Get<ValueStatistics>();
      return;
    case 3:
      event.value = in.GetError();
      return;
    default:
      in.Fail();
  }
}

// A module that may be null.
void PutModule(ValueWriter& out, const std::shared_ptr<const hlo::Module>& module) {
  out.Put(module != nullptr);
  if (module != nullptr) out.Put(hlo::ModuleToImage(*module));
}
std::shared_ptr<const hlo::Module> GetModule(ValueReader& in) {
  if (!in.Get<bool>()) return nullptr;
  const auto image = std::make_shared<const std::string>(in.Get<std::string>());
  auto module = hlo::ModuleFromImage(std::as_bytes(std::span(*image)), image);
  if (!module.has_value()) return in.Fail(), nullptr;
  return *std::move(module);
}

void Put(ValueWriter& out, const SearchFinding& event) {
  out.Put(event.name, event.fields, uint64_t{event.values.size()});
  for (const eval::Value& value : event.values) out.PutValue(value);
  PutModule(out, event.module);
}
void Get(ValueReader& in, SearchFinding& event) {
  event.name = in.Get<std::string>();
  event.fields = in.Get<std::string>();
  for (auto left = in.Get<uint64_t>(); left > 0 && in.ok(); --left) {
    event.values.push_back(in.GetValue());
  }
  event.module = GetModule(in);
}

void Put(ValueWriter& out, const RunWarning& event) { out.Put(event.text); }
void Get(ValueReader& in, RunWarning& event) { event.text = in.Get<std::string>(); }

void Put(ValueWriter& out, const RunFallback& event) {
  out.Put(event.instruction, event.opcode, event.reason, event.detail, event.bytes_moved,
          event.time_us);
}
void Get(ValueReader& in, RunFallback& event) {
  for (std::string* text : {&event.instruction, &event.opcode, &event.reason, &event.detail}) {
    *text = in.Get<std::string>();
  }
  event.bytes_moved = in.Get<int64_t>();
  event.time_us = in.Get<double>();
}

void PutWay(ValueWriter& out, const AlgorithmRecord& way) {
  out.Put(way.way, way.from, way.time_us, way.notes, static_cast<uint64_t>(way.tried.size()));
  for (const AlgorithmRecord::Tried& tried : way.tried) {
    out.Put(tried.way, tried.time_us, tried.refused);
  }
}
void GetWay(ValueReader& in, AlgorithmRecord& way) {
  way.way = in.Get<std::string>();
  way.from = in.Get<std::string>();
  way.time_us = in.Get<double>();
  way.notes = in.Get<std::vector<std::string>>();
  for (auto left = in.Get<uint64_t>(); left > 0 && in.ok(); --left) {
    AlgorithmRecord::Tried& tried = way.tried.emplace_back();
    tried.way = in.Get<std::string>();
    tried.time_us = in.Get<double>();
    tried.refused = in.Get<std::string>();
  }
}

void Put(ValueWriter& out, const RunExecuted& event) {
  out.Put(event.kernels, event.library_calls, event.evaluated,
          static_cast<uint64_t>(event.evaluated_ops.size()));
  for (const RunExecuted::Evaluated& op : event.evaluated_ops) {
    out.Put(op.opcode, op.count, op.reason);
  }
  out.Put(static_cast<uint64_t>(event.choices.size()));
  for (const RunExecuted::Choice& choice : event.choices) {
    out.Put(choice.opcode, choice.library, choice.reason, choice.count);
    PutWay(out, choice.way);
  }
  out.Put(event.choice_rows);
  out.Put(event.placement.devices, event.placement.gpus, event.placement.gpus_there);
}
void Get(ValueReader& in, RunExecuted& event) {
  for (int64_t* count : {&event.kernels, &event.library_calls, &event.evaluated}) {
    *count = in.Get<int64_t>();
  }
  for (auto left = in.Get<uint64_t>(); left > 0 && in.ok(); --left) {
    RunExecuted::Evaluated& op = event.evaluated_ops.emplace_back();
    op.opcode = in.Get<std::string>();
    op.count = in.Get<int64_t>();
    op.reason = in.Get<std::string>();
  }
  for (auto left = in.Get<uint64_t>(); left > 0 && in.ok(); --left) {
    RunExecuted::Choice& choice = event.choices.emplace_back();
    for (std::string* text : {&choice.opcode, &choice.library, &choice.reason}) {
      *text = in.Get<std::string>();
    }
    choice.count = in.Get<int64_t>();
    GetWay(in, choice.way);
  }
  event.choice_rows = in.Get<std::vector<std::string>>();
  RunExecuted::Placement& placement = event.placement;
  for (int64_t* count : {&placement.devices, &placement.gpus, &placement.gpus_there}) {
    *count = in.Get<int64_t>();
  }
}

void Put(ValueWriter& out, const TraceSlice& event) { out.Put(event); }
void Get(ValueReader& in, TraceSlice& event) { event = in.Get<TraceSlice>(); }

void Put(ValueWriter& out, const TraceSteps& event) {
  const eval::DeviceRecording& told = event.steps;
  out.Put(event.device, told.paths, told.steps, told.sums, told.live, told.lost, told.lost_ns);
  out.Put(event.kernels, event.launches, event.model_device);
  out.Put(event.module_number);
  PutModule(out, event.module);
}
void Get(ValueReader& in, TraceSteps& event) {
  event.device = in.Get<int64_t>();
  eval::DeviceRecording& told = event.steps;
  told.paths = in.Get<decltype(told.paths)>();
  told.steps = in.Get<decltype(told.steps)>();
  told.sums = in.Get<decltype(told.sums)>();
  told.live = in.Get<decltype(told.live)>();
  told.lost = in.Get<int64_t>();
  told.lost_ns = in.Get<int64_t>();
  event.kernels = in.Get<decltype(event.kernels)>();
  event.launches = in.Get<decltype(event.launches)>();
  event.model_device = in.Get<std::string>();
  event.module_number = in.Get<uint64_t>();
  event.module = GetModule(in);
}

void Put(ValueWriter& out, const TraceSamples& event) {
  out.Put(event.name, event.unit, event.samples);
}
void Get(ValueReader& in, TraceSamples& event) {
  event.name = in.Get<std::string>();
  event.unit = in.Get<std::string>();
  event.samples = in.Get<decltype(event.samples)>();
}

void Put(ValueWriter& out, const TraceFile& event) { out.Put(event.bytes, event.start_ns); }
void Get(ValueReader& in, TraceFile& event) {
  event.bytes = in.Get<std::string>();
  event.start_ns = in.Get<int64_t>();
}

void Put(ValueWriter& out, const RunProgress& event) {
  out.Put(event.what, event.done, event.total);
}
void Get(ValueReader& in, RunProgress& event) {
  event.what = in.Get<std::string>();
  event.done = in.Get<int64_t>();
  event.total = in.Get<int64_t>();
}

void Put(ValueWriter& out, const RunFault& event) {
  out.PutKey(event.key);
  out.PutError(event.error);
}
void Get(ValueReader& in, RunFault& event) {
  event.key = in.GetKey();
  event.error = in.GetError();
}

void Put(ValueWriter& out, const std::optional<RunFinding::Side>& side) {
  out.Put(side.has_value());
  if (!side) return;
  out.Put(side->file, side->form, side->line, side->column);
  for (size_t i = 0; i < 3; ++i) out.Put(side->block[i], side->thread[i]);
}
void Get(ValueReader& in, std::optional<RunFinding::Side>& side) {
  if (!in.Get<bool>()) return;
  side.emplace();
  side->file = in.Get<std::string>();
  side->form = in.Get<std::string>();
  side->line = in.Get<int64_t>();
  side->column = in.Get<int64_t>();
  for (size_t i = 0; i < 3; ++i) {
    side->block[i] = in.Get<int64_t>();
    side->thread[i] = in.Get<int64_t>();
  }
}

void Put(ValueWriter& out, const RunFinding& event) {
  out.Put(event.kind, event.what, event.instruction, event.kernel, event.memory, event.byte,
          event.count);
  Put(out, event.at);
  Put(out, event.other);
}
void Get(ValueReader& in, RunFinding& event) {
  for (std::string* text :
       {&event.kind, &event.what, &event.instruction, &event.kernel, &event.memory}) {
    *text = in.Get<std::string>();
  }
  event.byte = in.Get<int64_t>();
  event.count = in.Get<int64_t>();
  Get(in, event.at);
  Get(in, event.other);
}

// A reader for each alternative of RunEvent, by its number.
template <typename Event>
RunEvent Read(ValueReader& in) {
  Event event;
  Get(in, event);
  return event;
}
using Reader = RunEvent (*)(ValueReader&);
template <size_t... kIndex>
constexpr std::array<Reader, sizeof...(kIndex)> MakeReaders(std::index_sequence<kIndex...>) {
  return {&Read<std::variant_alternative_t<kIndex, RunEvent>>...};
}
constexpr auto kReaders = MakeReaders(std::make_index_sequence<std::variant_size_v<RunEvent>>());

}  // namespace

void PutEvent(ValueWriter& out, const RunEvent& event) {
  out.Put(static_cast<uint8_t>(event.index()));
  std::visit([&](const auto& alternative) { Put(out, alternative); }, event);
}

std::optional<RunEvent> GetEvent(ValueReader& in) {
  const auto index = in.Get<uint8_t>();
  if (!in.ok() || index >= kReaders.size()) return in.Fail(), std::nullopt;
  RunEvent event = kReaders[index](in);
  if (!in.ok()) return std::nullopt;
  return event;
}

void PutOptions(ValueWriter& out, const RunOptions& options) {
  out.Put(options.limits, options.memory_bytes, options.threads, options.deadline,
          options.fill_elided, options.rng_seed, options.run_passes, options.xla_flags,
          options.record_steps, options.object_cache, options.module_file, options.gpu_target,
          options.check_races, options.check_uninitialised, options.shuffle, options.kernel_metrics,
          options.pc_sampling, options.autotune_mode, options.choices);
  Put(out, options.capture);
}

RunOptions GetOptions(ValueReader& in) {
  RunOptions options;
  options.limits = in.Get<Limits>();
  options.memory_bytes = in.Get<int64_t>();
  options.threads = in.Get<int>();
  options.deadline = in.Get<decltype(options.deadline)>();
  options.fill_elided = in.Get<decltype(options.fill_elided)>();
  options.rng_seed = in.Get<uint64_t>();
  options.run_passes = in.Get<bool>();
  options.xla_flags = in.Get<decltype(options.xla_flags)>();
  options.record_steps = in.Get<int64_t>();
  options.object_cache = in.Get<bool>();
  options.module_file = in.Get<std::string>();
  options.gpu_target = in.Get<std::string>();
  options.check_races = in.Get<bool>();
  options.check_uninitialised = in.Get<bool>();
  options.shuffle = in.Get<decltype(options.shuffle)>();
  options.kernel_metrics = in.Get<bool>();
  options.pc_sampling = in.Get<bool>();
  options.autotune_mode = in.Get<AutotuneMode>();
  options.choices = in.Get<std::string>();
  Get(in, options.capture);
  return options;
}

}  // namespace hloscope::replay
