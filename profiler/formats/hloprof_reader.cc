// Reading of .hloprof files: blocks are found, unpacked on all threads and taken in their order.
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include "core/base/counted.h"
#include "core/base/deflate.h"
#include "profiler/event_store_builder.h"
#include "profiler/formats/hloprof_format.h"
#include "profiler/formats/losses.h"
#include "profiler/profile.h"

namespace hloscope::profiler {
namespace {

using namespace hloprof;  // NOLINT: the bytes of the format

constexpr size_t kMaxLostIds = 16 << 20;
constexpr size_t kEntryBytes = 64;  // of a name or an entry of a list, in the store

struct BlockPlace {
  uint32_t kind = 0;
  size_t offset = 0;  // of its header
  size_t stored = 0, size = 0;
  uint32_t crc = 0;
  size_t end() const { return offset + kBlockHeaderBytes + stored; }
};

// The block whose header is at `offset`; nullopt where none is there.
std::optional<BlockPlace> BlockHeaderAt(std::string_view file, size_t offset) {
  if (file.size() - offset < kBlockHeaderBytes) return std::nullopt;
  const std::string_view header = file.substr(offset, kBlockHeaderBytes);
  if (Crc32(header.substr(0, 16)) != Fixed32(header, 16)) return std::nullopt;
  return BlockPlace{Fixed32(header, 0), offset, Fixed32(header, 4), Fixed32(header, 8),
                    Fixed32(header, 12)};
}

std::string_view StoredBytes(std::string_view file, const BlockPlace& block) {
  return file.substr(block.offset + kBlockHeaderBytes, block.stored);
}
bool IsSound(std::string_view file, const BlockPlace& block) {
  return block.size <= kMaxBlockBytes && Crc32(StoredBytes(file, block)) == block.crc;
}

// The unpacked bytes of a block that lies in the file; nullopt where they are damaged.
std::optional<std::string> BytesOf(std::string_view file, const BlockPlace& block) {
  const std::string_view stored = StoredBytes(file, block);
  if (!IsSound(file, block)) return std::nullopt;
  if (block.stored == block.size) return std::string(stored);
  std::string bytes(block.size, '\0');
  if (!InflateInto(stored, bytes)) return std::nullopt;
  return bytes;
}

std::vector<Argument> ReadArguments(Cursor& cursor) {
  std::vector<Argument> arguments;
  for (size_t count = cursor.Count(); count > 0 && cursor.ok(); --count) {
    Argument argument{std::string(cursor.Text()), std::string()};
    switch (static_cast<ArgumentType>(cursor.Byte())) {
      case ArgumentType::kInt64:
        argument.value = cursor.Signed();
        break;
      case ArgumentType::kUint64:
        argument.value = cursor.Varint();
        break;
      case ArgumentType::kDouble:
        argument.value = cursor.Double();
        break;
      case ArgumentType::kText:
        argument.value = std::string(cursor.Text());
        break;
      default:
        cursor.Fail();
    }
    if (cursor.ok()) arguments.push_back(std::move(argument));
  }
  return arguments;
}

// Places are the number of the ARGS block, from 1, and the offset in it; 0 has no arguments.
uint64_t PlaceOf(size_t block, size_t offset) { return uint64_t{block + 1} << 32 | offset; }

// Unpacks a block again when arguments in it are asked for; the last one is kept.
class HloprofArguments : public ArgumentSource {
 public:
  explicit HloprofArguments(FileView file) : file_(std::move(file)) {}

  size_t AddBlock(const BlockPlace& block) {
    blocks_.push_back(block);
    return blocks_.size() - 1;
  }

  std::vector<Argument> Read(uint64_t where) const override {
    if (where == 0) return {};
    const size_t block = (where >> 32) - 1, offset = where & 0xffffffff;
    const std::lock_guard lock(mutex_);
    if (kept_ != block) {
      bytes_ = BytesOf(file_.bytes(), blocks_[block]).value_or("");
      kept_ = block;
    }
    Cursor cursor(std::string_view(bytes_).substr(std::min(offset, bytes_.size())));
    return ReadArguments(cursor);
  }

 private:
  FileView file_;
  std::vector<BlockPlace> blocks_;
  mutable std::mutex mutex_;
  mutable size_t kept_ = static_cast<size_t>(-1);
  mutable std::string bytes_;
};

// The columns of an EVNT block, in the ids of the file.
struct EventColumns {
  std::vector<uint32_t> lanes, names, operations, argument_sizes;
  std::vector<int64_t> starts, durations;
};

bool ReadRuns(Cursor& cursor, size_t count, std::vector<uint32_t>& values) {
  values.reserve(count);
  while (values.size() < count && cursor.ok()) {
    const uint32_t value = cursor.Index();
    const uint64_t run = cursor.Varint();
    if (run == 0 || run > count - values.size()) return false;
    values.insert(values.end(), run, value);
  }
  return cursor.ok();
}

void ReadIndices(Cursor& cursor, size_t count, std::vector<uint32_t>& values) {
  values.resize(count);
  for (uint32_t& value : values) value = cursor.Index();
}

// Sums wrap as they do in the writer; the store refuses what is out of range.
void ReadTimes(Cursor& cursor, size_t count, std::vector<int64_t>& times) {
  times.resize(count);
  uint64_t last = 0;
  for (int64_t& time : times) {
    last += static_cast<uint64_t>(cursor.Signed());
    time = static_cast<int64_t>(last);
  }
}

std::optional<EventColumns> ReadColumns(std::string_view bytes) {
  Cursor cursor(bytes);
  EventColumns columns;
  const size_t count = cursor.Count();
  const bool has_arguments = cursor.Byte() != 0;
  if (!ReadRuns(cursor, count, columns.lanes)) return std::nullopt;
  // What is left has a byte at least for each of the columns of each event.
  if (cursor.left() / (has_arguments ? 5 : 4) < count) return std::nullopt;
  ReadTimes(cursor, count, columns.starts);
  columns.durations.resize(count);
  for (int64_t& duration : columns.durations) duration = static_cast<int64_t>(cursor.Varint());
  ReadIndices(cursor, count, columns.names);
  ReadIndices(cursor, count, columns.operations);
  if (has_arguments) ReadIndices(cursor, count, columns.argument_sizes);
  if (!cursor.ok() || !cursor.AtEnd()) return std::nullopt;
  return columns;
}

// What the ids of a file stand for. Blocks between may be lost, so there are gaps.
template <typename T>
class IdList {
 public:
  // False for an id that no sound file has.
  bool Set(size_t id, T value, size_t& gaps_left) {
    if (id > values_.size()) {
      if (id - values_.size() > gaps_left) return false;
      gaps_left -= id - values_.size();
    }
    if (id >= values_.size()) values_.resize(id + 1);
    values_[id] = std::move(value);
    return true;
  }
  const T* Find(size_t id) const {
    return id < values_.size() && values_[id] ? &values_[id] : nullptr;
  }

 private:
  std::vector<T> values_;
};

class HloprofReader {
 public:
  HloprofReader(const FileView& file, const TraceRequest& request)
      : file_(file),
        bytes_(file.bytes()),
        request_(request),
        profile_(std::make_shared<Profile>(file, ProfileFormat::kHloprof)),
        arguments_(std::make_shared<HloprofArguments>(file)) {}

  Result<std::shared_ptr<Profile>> Read() {
    HLOSCOPE_TRY(CheckHeader());
    FindBlocks();
    HLOSCOPE_TRY(ChargeKept());
    const bool has_arguments =
        std::ranges::any_of(blocks_, [](const BlockPlace& b) { return b.kind == kArguments; });
    if (has_arguments) builder_.set_arguments(arguments_);
    const size_t batch = static_cast<size_t>(request_.jobs.threads()) * 4;
    for (size_t first = 0; first < blocks_.size(); first += batch) {
      if (request_.stop.stop_requested()) break;
      const auto part = std::span(blocks_).subspan(first, std::min(batch, blocks_.size() - first));
      HLOSCOPE_TRY(TakeBatch(part));
    }
    TakeModule();
    CountMissing();
    std::ranges::stable_sort(profile_->modules, {}, &EmbeddedModule::program);
    HLOSCOPE_ASSIGN_OR_RETURN(profile_->store, builder_.Finish(request_.jobs, request_.stop));
    profile_->losses = losses_.Take();
    return profile_;
  }

 private:
  struct Unpacked {
    std::optional<std::string> bytes;
    std::optional<EventColumns> events;
  };
  using OptionalName = std::optional<NameId>;

  Status CheckHeader() const {
    if (bytes_.size() < kHeaderBytes || Crc32(bytes_.substr(0, 12)) != Fixed32(bytes_, 12)) {
      return InputError(file_.path() + ": the 16-byte header is damaged or cut off",
                        "copy the profile again");
    }
    if (const uint32_t version = Fixed32(bytes_, 8); version == 0 || version > kVersion) {
      return InputError(file_.path() + ": written in version " + std::to_string(version) +
                            ", expected at most " + std::to_string(kVersion),
                        "a newer hloscope reads it");
    }
    return {};
  }

  void FindBlocks() {
    size_t offset = kHeaderBytes;
    bool is_done = false;
    while (offset < bytes_.size() && !is_done) {
      const auto block = BlockHeaderAt(bytes_, offset);
      if (!block) {
        const size_t next = NextHeader(offset + 1);
        if (next == bytes_.size()) return CountCut(offset);
        losses_.Count("corrupt regions skipped", [&] {
          return "byte " + std::to_string(offset) + " to " + std::to_string(next);
        });
        offset = next;
        continue;
      }
      if (block->end() > bytes_.size()) return CountCut(offset);
      blocks_.push_back(*block);
      offset = block->end();
      is_done = block->kind == kDone;
    }
    if (!is_done) return CountCut(offset);
    if (offset < bytes_.size()) {
      losses_.Count("trailing bytes after the end marker",
                    [&] { return std::to_string(bytes_.size() - offset) + " bytes"; });
    }
  }

  // The next place where a block of a known kind begins.
  size_t NextHeader(size_t offset) const {
    for (; offset + kBlockHeaderBytes <= bytes_.size(); ++offset) {
      if (std::ranges::find(kKinds, Fixed32(bytes_, offset)) == kKinds.end()) continue;
      if (BlockHeaderAt(bytes_, offset)) return offset;
    }
    return bytes_.size();
  }

  void CountCut(size_t offset) {
    losses_.Count("end of the profile missing: it was cut off or is still being written",
                  [&] { return "after byte " + std::to_string(offset); });
  }

  bool IsWanted(uint32_t kind) const {
    return !request_.only_modules || (kind != kEvents && kind != kSamples && kind != kArguments);
  }

  // What stays in memory as it is unpacked: modules, names, facts and lists of what events refer
  // to.
  static bool IsKept(uint32_t kind) {
    return kind != kEvents && kind != kSamples && kind != kArguments && kind != kDone;
  }

  // Before any of them is unpacked.
  Status ChargeKept() {
    for (const BlockPlace& block : blocks_) {
      if (!IsKept(block.kind) || block.size > kMaxBlockBytes) continue;
      if (!Charge(block.size)) return OverBudget();
    }
    return {};
  }
  bool Charge(uint64_t bytes) {
    const bool fits = std::cmp_less_equal(bytes, budget_left_);
    budget_left_ = fits ? budget_left_ - static_cast<int64_t>(bytes) : -1;
    return fits;
  }
  Error TooLarge(std::string_view what) const {
    return InputError(
               fmt::format("{}: its {} take more memory than the limit archive, {}", file_.path(),
                           what, Counted(request_.limits.archive_bytes, "byte")),
               "raise it with --limit archive=BYTES")
        .error();
  }
  Status OverBudget() const { return std::unexpected(TooLarge("modules, names and facts")); }

  Status TakeBatch(std::span<const BlockPlace> blocks) {
    std::vector<Unpacked> unpacked(blocks.size());
    HLOSCOPE_TRY(request_.jobs.ParallelFor(
        static_cast<int64_t>(blocks.size()),
        [&](int64_t i) {
          const size_t b = static_cast<size_t>(i);
          if (!IsWanted(blocks[b].kind)) return;
          if (blocks[b].kind == kArguments) {  // unpacked when they are asked for
            if (IsSound(bytes_, blocks[b])) unpacked[b].bytes.emplace();
            return;
          }
          unpacked[b].bytes = BytesOf(bytes_, blocks[b]);
          if (blocks[b].kind != kEvents || !unpacked[b].bytes) return;
          unpacked[b].events = ReadColumns(*unpacked[b].bytes);
          if (!unpacked[b].events) unpacked[b].bytes.reset();
        },
        request_.stop));
    for (size_t b = 0; b < blocks.size(); ++b) {
      const BlockPlace& block = blocks[b];
      if (!IsWanted(block.kind)) continue;
      if (!unpacked[b].bytes) {
        CountDamage(block);
      } else if (block.kind == kArguments) {
        last_arguments_ = &block;
      } else if (unpacked[b].events) {
        HLOSCOPE_TRY(TakeEvents(*unpacked[b].events));
      } else {
        Cursor cursor(*unpacked[b].bytes);
        Take(block, cursor);
        if (budget_left_ < 0) return OverBudget();
        if (!cursor.ok()) CountDamage(block);
      }
      if (block.kind == kEvents) last_arguments_ = nullptr;
    }
    return {};
  }

  void CountDamage(const BlockPlace& block) {
    losses_.Count("damaged blocks", [&] {
      return std::string(bytes_.substr(block.offset, 4)) + " at byte " +
             std::to_string(block.offset);
    });
  }

  void Take(const BlockPlace& block, Cursor& cursor) {
    switch (block.kind) {
      case kOrigin:
        return builder_.set_origin_ns(cursor.Signed());
      case kNames:
        return TakeNames(cursor);
      case kGroups:
        return TakeList(cursor, groups_, [&] { return TakeGroup(cursor); });
      case kLanes:
        return TakeList(cursor, lanes_, [&] { return TakeLane(cursor); });
      case kOperations:
        return TakeList(cursor, operations_, [&] { return TakeOperation(cursor); });
      case kCounters:
        return TakeList(cursor, counters_, [&] { return TakeCounter(cursor); });
      case kSamples:
        return TakeSamples(cursor);
      case kModule:
        return BeginModule(block, cursor);
      case kModuleMore:
        if (module_bytes_) module_bytes_->append(cursor.Bytes(cursor.left()));
        return;
      case kFact:
        return TakeFact(cursor);
      case kDone:
        done_events_ = cursor.Varint();
        done_samples_ = cursor.Varint();
        return;
      default:
        losses_.Count("blocks of a kind that this version does not know", [&] {
          return std::string(bytes_.substr(block.offset, 4)) + " at byte " +
                 std::to_string(block.offset);
        });
    }
  }

  template <typename T, typename Entry>
  void TakeList(Cursor& cursor, IdList<std::optional<T>>& list, Entry entry) {
    const size_t first = cursor.Index(), count = cursor.Count();
    if (!Charge(count * kEntryBytes)) return cursor.Fail();
    for (size_t i = 0; i < count && cursor.ok(); ++i) {
      std::optional<T> value = entry();
      if (cursor.ok() && !list.Set(first + i, std::move(value), gaps_left_)) cursor.Fail();
    }
  }

  void TakeNames(Cursor& cursor) {
    const size_t first = cursor.Index(), count = cursor.Count();
    if (!Charge(count * kEntryBytes)) return cursor.Fail();
    std::vector<uint64_t> sizes(count);
    for (uint64_t& size : sizes) size = cursor.Varint();
    for (size_t i = 0; i < count && cursor.ok(); ++i) {
      const std::string_view text = cursor.Bytes(sizes[i]);
      if (cursor.ok() && !names_.Set(first + i, builder_.Name(text), gaps_left_)) cursor.Fail();
    }
  }

  NameId NameAt(size_t id) {
    if (const auto* name = names_.Find(id)) return **name;
    losses_.Count("names lost with the block that held them", [] { return "shown as (lost)"; });
    return builder_.Name("(lost)");
  }
  std::string TextAt(size_t id) { return std::string(builder_.text(NameAt(id))); }

  std::optional<uint32_t> TakeGroup(Cursor& cursor) {
    const uint32_t name = cursor.Index();
    const bool is_device = cursor.Byte() != 0;
    std::vector<Argument> facts = ReadArguments(cursor);
    if (!cursor.ok()) return std::nullopt;
    const uint32_t group = builder_.AddGroup(TextAt(name), is_device);
    builder_.SetFacts(group, std::move(facts));
    return group;
  }

  // A group that is lost is made up, so that its lanes are not lost with it.
  uint32_t GroupAt(size_t id) {
    if (const auto* group = groups_.Find(id)) return **group;
    losses_.Count("groups lost with the block that held them", [] { return "shown as (lost)"; });
    if (!lost_group_) lost_group_ = builder_.AddGroup("(lost)", false);
    return *lost_group_;
  }

  std::optional<LaneId> TakeLane(Cursor& cursor) {
    const uint32_t group = cursor.Index(), name = cursor.Index(), role = cursor.Index();
    if (!cursor.ok()) return std::nullopt;
    const std::string text = TextAt(name);
    const uint32_t owner = GroupAt(group);
    return builder_.AddLane(owner, text, RoleNamed(TextAt(role)).value_or(LaneRole::kThread));
  }

  std::optional<OperationId> TakeOperation(Cursor& cursor) {
    const uint64_t module = cursor.Varint(), name = cursor.Varint();
    const int64_t program = cursor.Signed();
    if (!cursor.ok()) return std::nullopt;
    return builder_.AddOperation({.module = module == 0 ? NameId() : NameAt(module - 1),
                                  .name = name == 0 ? NameId() : NameAt(name - 1),
                                  .program = program});
  }

  std::optional<CounterId> TakeCounter(Cursor& cursor) {
    const uint32_t group = cursor.Index(), name = cursor.Index(), unit = cursor.Index();
    if (!cursor.ok()) return std::nullopt;
    const std::string text = TextAt(name);
    return builder_.AddCounter(GroupAt(group), text, TextAt(unit));
  }

  Status TakeEvents(const EventColumns& columns) {
    const size_t count = columns.lanes.size();
    constexpr size_t kEventBytes = 40;  // in the store
    if (std::cmp_greater((builder_.size() + count) * kEventBytes, request_.limits.archive_bytes)) {
      return std::unexpected(TooLarge("events"));
    }
    std::optional<size_t> block;
    if (!columns.argument_sizes.empty() && last_arguments_ != nullptr) {
      block = arguments_->AddBlock(*last_arguments_);
    }
    size_t offset = 0;
    for (size_t i = 0; i < count; ++i) {
      const uint32_t size = block ? columns.argument_sizes[i] : 0;
      TakeEvent(columns, i, size == 0 ? 0 : PlaceOf(*block, offset));
      offset += size;
    }
    return {};
  }

  void TakeEvent(const EventColumns& columns, size_t i, uint64_t where) {
    const auto* lane = lanes_.Find(columns.lanes[i]);
    if (lane == nullptr) {
      return losses_.Count("events lost with the block that held their lane",
                           [&] { return "lane " + std::to_string(columns.lanes[i]); });
    }
    OperationId operation;
    if (const uint32_t id = columns.operations[i]; id != 0) {
      const auto* found = operations_.Find(id - 1);
      if (found != nullptr) operation = **found;
      if (found == nullptr) {
        losses_.Count("operations lost with the block that held them",
                      [&] { return "operation " + std::to_string(id - 1); });
      }
    }
    const Status added = builder_.Add(**lane, columns.starts[i], columns.durations[i],
                                      NameAt(columns.names[i]), operation, where);
    if (!added)
      losses_.Count("events with out-of-range timestamps", [&] { return added.error().message; });
  }

  void TakeSamples(Cursor& cursor) {
    const size_t count = cursor.Count();
    std::vector<uint32_t> counters;
    std::vector<int64_t> times;
    if (!ReadRuns(cursor, count, counters) || cursor.left() / 9 < count) return cursor.Fail();
    ReadTimes(cursor, count, times);
    for (size_t i = 0; i < count && cursor.ok(); ++i) {
      const double value = cursor.Double();
      const auto* counter = counters_.Find(counters[i]);
      Status added = InputError("its counter was lost with the block that held it");
      if (counter != nullptr) added = builder_.AddSample(**counter, times[i], value);
      if (!added) losses_.Count("samples of counters", [&] { return added.error().message; });
    }
  }

  void BeginModule(const BlockPlace& block, Cursor& cursor) {
    TakeModule();
    EmbeddedModule module;
    module.name = cursor.Text();
    module.program = cursor.Signed();
    module_form_ = static_cast<ModuleForm>(cursor.Byte());
    module.fingerprint = cursor.Text();
    module_size_ = cursor.Varint();
    if (!cursor.ok()) return;
    module_ = std::move(module);
    module_bytes_ = std::make_shared<std::string>(cursor.Bytes(cursor.left()));
    // Room for the blocks that follow, so that appending them copies nothing.
    size_t more = 0;
    for (size_t b = static_cast<size_t>(&block - blocks_.data()) + 1;
         b < blocks_.size() && blocks_[b].kind == kModuleMore; ++b) {
      more += std::min<size_t>(blocks_[b].size, kMaxBlockBytes);
    }
    module_bytes_->reserve(module_bytes_->size() + more);
  }

  // The module whose blocks were read last.
  void TakeModule() {
    if (!module_bytes_) return;
    if (module_bytes_->size() == module_size_) {
      if (module_form_ == ModuleForm::kHloProto) module_.hlo_proto = *module_bytes_;
      if (module_form_ == ModuleForm::kHloText) module_.hlo_text = *module_bytes_;
      module_.owned = std::move(module_bytes_);
    } else {
      losses_.Count("incomplete modules", [&] { return module_.name; });
    }
    profile_->modules.push_back(std::exchange(module_, {}));
    module_bytes_.reset();
  }

  void TakeFact(Cursor& cursor) {
    const auto kind = static_cast<FactKind>(cursor.Byte());
    std::string key(cursor.Text()), value(cursor.Text());
    if (!cursor.ok()) return;
    switch (kind) {
      case FactKind::kEnvironment:
        return void(profile_->environment.emplace_back(std::move(key), std::move(value)));
      case FactKind::kHost:
        return profile_->hosts.push_back(std::move(value));
      case FactKind::kError:
        return profile_->errors.push_back(std::move(value));
      case FactKind::kWarning:
        return profile_->warnings.push_back(std::move(value));
    }
    cursor.Fail();
  }

  // What the end of the file says there were, and what there is.
  void CountMissing() {
    if (request_.only_modules || request_.stop.stop_requested()) return;
    auto missing = [&](std::string_view what, uint64_t wanted, size_t have) {
      if (wanted <= have) return;
      losses_.Count(
          what, [&] { return std::to_string(wanted - have) + " of " + std::to_string(wanted); });
    };
    missing("gaps where events are missing", done_events_, builder_.size());
    missing("gaps where samples are missing", done_samples_, builder_.sample_count());
  }

  const FileView& file_;
  std::string_view bytes_;
  const TraceRequest& request_;
  std::shared_ptr<Profile> profile_;
  std::shared_ptr<HloprofArguments> arguments_;
  EventStoreBuilder builder_;
  Losses losses_;
  std::vector<BlockPlace> blocks_;
  const BlockPlace* last_arguments_ = nullptr;
  size_t gaps_left_ = kMaxLostIds;
  int64_t budget_left_ = request_.limits.archive_bytes;  // for what stays in memory; < 0: none
  IdList<std::optional<NameId>> names_;
  IdList<std::optional<uint32_t>> groups_;
  IdList<std::optional<LaneId>> lanes_;
  IdList<std::optional<OperationId>> operations_;
  IdList<std::optional<CounterId>> counters_;
  std::optional<uint32_t> lost_group_;
  EmbeddedModule module_;
  std::shared_ptr<std::string> module_bytes_;
  ModuleForm module_form_ = ModuleForm::kNone;
  uint64_t module_size_ = 0, done_events_ = 0, done_samples_ = 0;
};

}  // namespace

bool IsHloprof(std::string_view bytes) { return bytes.starts_with(kMagic); }

Result<std::shared_ptr<Profile>> ReadHloprof(const FileView& file, const TraceRequest& request) {
  return HloprofReader(file, request).Read();
}

}  // namespace hloscope::profiler
