// Blocks of a .hloprof file: definitions are written before the block that uses them.
#include "profiler/formats/hloprof_writer.h"

#include <limits>
#include <utility>
#include <vector>

#include "core/base/deflate.h"
#include "core/base/file_writer.h"
#include "profiler/event_store_builder.h"
#include "profiler/formats/hloprof_format.h"

namespace hloscope::profiler {
namespace {

using namespace hloprof;  // NOLINT: the bytes of the format

constexpr size_t kBlockEvents = 1 << 15;
constexpr size_t kBlockArgumentBytes = 4 << 20;
constexpr size_t kModulePiece = 16 << 20;
constexpr int kLevel = 1;  // packs the columns nearly as well as 6 does, in a third of the time

void AppendArgument(std::string& out, const Argument& argument) {
  AppendText(out, argument.name);
  out += static_cast<char>(argument.value.index());
  switch (static_cast<ArgumentType>(argument.value.index())) {
    case ArgumentType::kInt64:
      return AppendSigned(out, std::get<int64_t>(argument.value));
    case ArgumentType::kUint64:
      return AppendVarint(out, std::get<uint64_t>(argument.value));
    case ArgumentType::kDouble:
      return AppendDouble(out, std::get<double>(argument.value));
    case ArgumentType::kText:
      return AppendText(out, std::get<std::string>(argument.value));
  }
}

void AppendArguments(std::string& out, std::span<const Argument> arguments) {
  AppendVarint(out, arguments.size());
  for (const Argument& argument : arguments) AppendArgument(out, argument);
}

// A column in which the same value stands often in a row: value and how often, until all are told.
class RunColumn {
 public:
  void Add(uint32_t value) {
    if (count_ > 0 && value == value_) {
      ++count_;
      return;
    }
    Close();
    value_ = value;
    count_ = 1;
  }
  std::string Take() {
    Close();
    count_ = 0;
    return std::exchange(bytes_, {});
  }

 private:
  void Close() {
    if (count_ == 0) return;
    AppendVarint(bytes_, value_);
    AppendVarint(bytes_, count_);
  }
  std::string bytes_;
  uint32_t value_ = 0;
  uint64_t count_ = 0;
};

// One more than the index; 0 for an id that is none.
template <typename Tag>
uint64_t OrNone(Id<Tag> id) {
  return id.valid() ? uint64_t{id.index} + 1 : 0;
}

}  // namespace

struct HloprofWriter::State {
  FileWriter file;
  hlo::StringPool names;
  size_t names_written = 0;
  std::string groups, lanes, operations, counters;  // not written yet, one after another
  uint32_t new_groups = 0, new_lanes = 0, new_operations = 0, new_counters = 0;
  uint32_t group_count = 0, lane_count = 0, operation_count = 0, counter_count = 0;

  RunColumn event_lanes;
  std::string starts, durations, event_names, event_operations, argument_sizes, arguments;
  size_t events = 0;
  int64_t last_start = 0;
  RunColumn sample_counters;
  std::string times, values;
  size_t samples = 0;
  int64_t last_time = 0;
  uint64_t all_events = 0, all_samples = 0;

  explicit State(FileWriter opened) : file(std::move(opened)) {}

  Status WriteBlock(uint32_t kind, std::string_view bytes) {
    if (bytes.size() > kMaxBlockBytes) {
      return InputError("a block of a profile is larger than 64 MiB",
                        "leave out the longest arguments of events");
    }
    const std::string packed = Deflate(bytes, kLevel);
    const std::string_view stored = packed.empty() ? bytes : std::string_view(packed);
    std::string header;
    AppendFixed32(header, kind);
    AppendFixed32(header, static_cast<uint32_t>(stored.size()));
    AppendFixed32(header, static_cast<uint32_t>(bytes.size()));
    AppendFixed32(header, Crc32(stored));
    AppendFixed32(header, Crc32(header));
    HLOSCOPE_TRY(file.Append(header));
    return file.Append(stored);
  }

  Status WriteNames() {
    std::string block, texts;
    size_t count = 0, first = names_written;
    auto write = [&]() -> Status {
      if (count == 0) return {};
      std::string head;
      AppendVarint(head, first);
      AppendVarint(head, count);
      first += std::exchange(count, 0);
      return WriteBlock(kNames, head + std::exchange(block, {}) + std::exchange(texts, {}));
    };
    for (; names_written < names.size(); ++names_written) {
      const std::string_view text = names[NameId(names_written)];
      if (count > 0 && texts.size() + text.size() > kModulePiece) HLOSCOPE_TRY(write());
      AppendVarint(block, text.size());
      texts += text;
      ++count;
    }
    return write();
  }

  Status WriteList(uint32_t kind, uint32_t& added, uint32_t count, std::string& bytes) {
    if (added == 0) return {};
    std::string head;
    AppendVarint(head, count - added);
    AppendVarint(head, added);
    added = 0;
    return WriteBlock(kind, head + std::exchange(bytes, {}));
  }

  Status WriteDefinitions() {
    HLOSCOPE_TRY(WriteNames());
    HLOSCOPE_TRY(WriteList(kGroups, new_groups, group_count, groups));
    HLOSCOPE_TRY(WriteList(kLanes, new_lanes, lane_count, lanes));
    HLOSCOPE_TRY(WriteList(kOperations, new_operations, operation_count, operations));
    return WriteList(kCounters, new_counters, counter_count, counters);
  }

  Status WriteEvents() {
    if (events == 0) return {};
    HLOSCOPE_TRY(WriteDefinitions());
    const bool has_arguments = !arguments.empty();
    if (has_arguments) HLOSCOPE_TRY(WriteBlock(kArguments, std::exchange(arguments, {})));
    std::string block;
    AppendVarint(block, events);
    block += static_cast<char>(has_arguments);
    block += event_lanes.Take();
    for (std::string* column : {&starts, &durations, &event_names, &event_operations}) {
      block += std::exchange(*column, {});
    }
    if (has_arguments) block += argument_sizes;
    argument_sizes.clear();
    all_events += std::exchange(events, 0);
    last_start = 0;
    return WriteBlock(kEvents, block);
  }

  Status WriteSamples() {
    if (samples == 0) return {};
    HLOSCOPE_TRY(WriteDefinitions());
    std::string block;
    AppendVarint(block, samples);
    block += sample_counters.Take();
    block += std::exchange(times, {});
    block += std::exchange(values, {});
    all_samples += std::exchange(samples, 0);
    last_time = 0;
    return WriteBlock(kSamples, block);
  }

  Status WriteFact(FactKind kind, std::string_view key, std::string_view value) {
    std::string block(1, static_cast<char>(kind));
    AppendText(block, key);
    AppendText(block, value);
    return WriteBlock(kFact, block);
  }
};

HloprofWriter::HloprofWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
HloprofWriter::~HloprofWriter() = default;

Result<std::unique_ptr<HloprofWriter>> HloprofWriter::Create(const std::string& path) {
  HLOSCOPE_ASSIGN_OR_RETURN(FileWriter file, FileWriter::Create(path, ".part"));
  std::string header(kMagic);
  AppendFixed32(header, kVersion);
  AppendFixed32(header, Crc32(header));
  HLOSCOPE_TRY(file.Append(header));
  return std::unique_ptr<HloprofWriter>(
      new HloprofWriter(std::make_unique<State>(std::move(file))));
}

Status HloprofWriter::SetOrigin(int64_t origin_ns) {
  std::string block;
  AppendSigned(block, origin_ns);
  return state_->WriteBlock(kOrigin, block);
}

NameId HloprofWriter::Name(std::string_view text) { return state_->names.Intern(text); }

uint32_t HloprofWriter::AddGroup(std::string_view name, bool is_device,
                                 std::span<const Argument> facts) {
  AppendVarint(state_->groups, Name(name).index);
  state_->groups += static_cast<char>(is_device);
  AppendArguments(state_->groups, facts);
  ++state_->new_groups;
  return state_->group_count++;
}

LaneId HloprofWriter::AddLane(uint32_t group, std::string_view name, LaneRole role) {
  AppendVarint(state_->lanes, group);
  AppendVarint(state_->lanes, Name(name).index);
  AppendVarint(state_->lanes, Name(ToString(role)).index);
  ++state_->new_lanes;
  return LaneId(state_->lane_count++);
}

OperationId HloprofWriter::AddOperation(const Operation& operation) {
  AppendVarint(state_->operations, OrNone(operation.module));
  AppendVarint(state_->operations, OrNone(operation.name));
  AppendSigned(state_->operations, operation.program);
  ++state_->new_operations;
  return OperationId(state_->operation_count++);
}

CounterId HloprofWriter::AddCounter(uint32_t group, std::string_view name, std::string_view unit) {
  AppendVarint(state_->counters, group);
  AppendVarint(state_->counters, Name(name).index);
  AppendVarint(state_->counters, Name(unit).index);
  ++state_->new_counters;
  return CounterId(state_->counter_count++);
}

Status HloprofWriter::AddSlice(const RecordedSlice& slice, std::span<const Argument> arguments) {
  HLOSCOPE_TRY(CheckTimes(slice.start, slice.duration));
  State& s = *state_;
  s.event_lanes.Add(slice.lane.index);
  AppendSigned(s.starts, slice.start - s.last_start);
  s.last_start = slice.start;
  AppendVarint(s.durations, static_cast<uint64_t>(slice.duration));
  AppendVarint(s.event_names, slice.name.index);
  AppendVarint(s.event_operations, OrNone(slice.operation));
  const size_t before = s.arguments.size();
  if (!arguments.empty()) AppendArguments(s.arguments, arguments);
  AppendVarint(s.argument_sizes, s.arguments.size() - before);
  ++s.events;
  const bool is_full = s.events >= kBlockEvents || s.arguments.size() >= kBlockArgumentBytes;
  return is_full ? s.WriteEvents() : Status();
}

Status HloprofWriter::AddSample(CounterId counter, int64_t time, double value) {
  HLOSCOPE_TRY(CheckTimes(time, 0));
  State& s = *state_;
  s.sample_counters.Add(counter.index);
  AppendSigned(s.times, time - s.last_time);
  s.last_time = time;
  AppendDouble(s.values, value);
  ++s.samples;
  return s.samples >= kBlockEvents ? s.WriteSamples() : Status();
}

Status HloprofWriter::AddModule(const EmbeddedModule& module) {
  std::string_view bytes = module.hlo_proto.empty() ? module.hlo_text : module.hlo_proto;
  std::string block;
  AppendText(block, module.name);
  AppendSigned(block, module.program);
  block += static_cast<char>(!module.hlo_proto.empty()  ? ModuleForm::kHloProto
                             : !module.hlo_text.empty() ? ModuleForm::kHloText
                                                        : ModuleForm::kNone);
  AppendText(block, module.fingerprint);
  AppendVarint(block, bytes.size());
  block += bytes.substr(0, kModulePiece);
  HLOSCOPE_TRY(state_->WriteBlock(kModule, block));
  while (bytes.size() > kModulePiece) {
    bytes.remove_prefix(kModulePiece);
    HLOSCOPE_TRY(state_->WriteBlock(kModuleMore, bytes.substr(0, kModulePiece)));
  }
  return {};
}

Status HloprofWriter::AddEnvironment(std::string_view key, std::string_view value) {
  return state_->WriteFact(FactKind::kEnvironment, key, value);
}
Status HloprofWriter::AddHost(std::string_view name) {
  return state_->WriteFact(FactKind::kHost, {}, name);
}
Status HloprofWriter::AddError(std::string_view text) {
  return state_->WriteFact(FactKind::kError, {}, text);
}
Status HloprofWriter::AddWarning(std::string_view text) {
  return state_->WriteFact(FactKind::kWarning, {}, text);
}

Status HloprofWriter::Flush() {
  HLOSCOPE_TRY(state_->WriteEvents());
  HLOSCOPE_TRY(state_->WriteSamples());
  return state_->WriteDefinitions();
}

Status HloprofWriter::Finish() {
  HLOSCOPE_TRY(Flush());
  std::string block;
  AppendVarint(block, state_->all_events);
  AppendVarint(block, state_->all_samples);
  HLOSCOPE_TRY(state_->WriteBlock(kDone, block));
  return state_->file.Finish();
}

}  // namespace hloscope::profiler
