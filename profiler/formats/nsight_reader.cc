// The events of an export of Nsight Systems (nsys export --type sqlite): kernels, copies and graphs
// in streams; calls and NVTX ranges in threads.
#include <algorithm>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>

#include "core/base/checked.h"
#include "profiler/event_store_builder.h"
#include "profiler/formats/losses.h"
#include "profiler/formats/nsight_launches.h"
#include "profiler/formats/sqlite_file.h"
#include "profiler/profile.h"

namespace hloscope::profiler {
namespace {

constexpr int64_t kPicosecondsInNanosecond = 1000;
constexpr int kRowBits = 48;  // of a place: the row, and above it the table

enum class NsightPlace : uint8_t { kThread, kStream, kNowhere };
struct NsightTable {
  std::string_view table;
  NsightPlace place;
  std::string_view names, other_name, lane;
};
constexpr NsightTable kNsightTables[] = {
#define NSIGHT_TABLE(table, place, names, other_name, lane) \
  {table, NsightPlace::place, names, other_name, lane},
#include "profiler/formats/nsight_tables.def"
#undef NSIGHT_TABLE
};

// Columns that hold ids of StringIds.
bool IsStringColumn(std::string_view name) {
  static constexpr std::string_view kColumns[] = {"shortName", "demangledName", "mangledName",
                                                  "nameId", "textId"};
  return std::ranges::find(kColumns, name) != std::end(kColumns);
}

// What kinds of copies are called (CUpti_ActivityMemcpyKind).
std::string_view NameOfCopy(int64_t kind) {
  static constexpr std::string_view kNames[] = {"Memcpy",    "MemcpyH2D", "MemcpyD2H", "MemcpyH2A",
                                                "MemcpyA2H", "MemcpyA2A", "MemcpyA2D", "MemcpyD2A",
                                                "MemcpyD2D", "MemcpyH2H", "MemcpyP2P"};
  return kNames[kind > 0 && kind < std::ssize(kNames) ? kind : 0];
}

// "A, B and 3 more".
std::string JoinedNames(std::span<const std::string> names) {
  constexpr size_t kMost = 20;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    text.append(i == 0 ? "" : ", ").append(names[i]);
  }
  if (names.size() > kMost) text += " and " + std::to_string(names.size() - kMost) + " more";
  return text;
}

// Texts by their numbers, read when they are asked for.
class StringTable {
 public:
  explicit StringTable(const SqliteFile& file)
      : rows_(file, "SELECT value FROM StringIds WHERE id = ?1") {}
  std::string_view Find(int64_t id) {
    rows_.Bind(id);
    return rows_.Next() ? rows_.Text(0) : std::string_view();
  }

 private:
  SqliteFile::Rows rows_;
};

// All columns of a row, with the texts their numbers stand for.
class NsightArguments : public ArgumentSource {
 public:
  explicit NsightArguments(std::shared_ptr<SqliteFile> file)
      : file_(std::move(file)), strings_(*file_) {}

  std::vector<Argument> Read(uint64_t where) const override {
    const std::lock_guard lock(mutex_);
    std::vector<Argument> arguments;
    const size_t table = where >> kRowBits;
    if (table >= std::size(kNsightTables)) return arguments;
    SqliteFile::Rows rows(
        *file_, "SELECT * FROM " + std::string(kNsightTables[table].table) + " WHERE rowid = ?1");
    rows.Bind(static_cast<int64_t>(where & ((uint64_t{1} << kRowBits) - 1)));
    if (!rows.Next()) return arguments;
    for (int c = 0; c < rows.columns(); ++c) {
      if (rows.IsNull(c)) continue;
      Argument& argument = arguments.emplace_back();
      argument.name = rows.name(c);
      if (IsStringColumn(argument.name)) {
        argument.value = std::string(strings_.Find(rows.Integer(c)));
      } else if (rows.IsText(c)) {
        argument.value = std::string(rows.Text(c));
      } else if (rows.IsReal(c)) {
        argument.value = rows.Real(c);
      } else {
        argument.value = rows.Integer(c);
      }
    }
    return arguments;
  }

 private:
  std::shared_ptr<SqliteFile> file_;
  mutable std::mutex mutex_;
  mutable StringTable strings_;
};

class NsightReader {
 public:
  NsightReader(const FileView& file, const TraceRequest& request, std::shared_ptr<SqliteFile> data)
      : request_(request),
        profile_(std::make_shared<Profile>(file, ProfileFormat::kNsight)),
        data_(std::move(data)),
        strings_(*data_),
        launches_(builder_) {
    builder_.set_arguments(std::make_shared<NsightArguments>(data_));
  }

  Result<std::shared_ptr<Profile>> Read() {
    HLOSCOPE_ASSIGN_OR_RETURN(tables_, data_->Tables());
    const bool is_export = std::ranges::any_of(
        kNsightTables, [&](const NsightTable& table) { return Has(table.table); });
    if (!is_export) {
      return InputError(
          profile_->file.path() + ": SQLite database, but not an Nsight Systems export",
          "nsys export --type sqlite FILE.nsys-rep writes one with them");
    }
    if (data_->is_cut()) {
      losses_.Count("pages cut off at the end of the database", [&] {
        return "the file has " + std::to_string(profile_->file.bytes().size()) + " bytes";
      });
    }
    if (!request_.only_modules) ReadTables();
    CountOtherTables();
    HLOSCOPE_ASSIGN_OR_RETURN(profile_->store, builder_.Finish(request_.jobs, request_.stop));
    profile_->losses = losses_.Take();
    return profile_;
  }

 private:
  // Places of the columns that are used; -1 where a version has none.
  struct Columns {
    int start, end, thread, process, device, context, stream, correlation, node, kind, text, type;
    std::vector<int> names;
  };

  bool Has(std::string_view table) const {
    return std::ranges::find(tables_, table) != tables_.end();
  }

  void ReadTables() {
    bool resolved = false;
    for (size_t t = 0; t < std::size(kNsightTables); ++t) {
      const NsightTable& table = kNsightTables[t];
      // Ranges, calls and nodes stand in front of what they started.
      if (table.place == NsightPlace::kStream && !std::exchange(resolved, true))
        launches_.Resolve();
      if (Has(table.table)) ReadTable(t, table);
    }
  }

  void ReadTable(size_t number, const NsightTable& table) {
    SqliteFile::Rows rows(*data_, "SELECT rowid, * FROM " + std::string(table.table));
    const Columns columns = ColumnsOf(rows, table);
    if (columns.start < 0) {
      losses_.Count("tables without timestamps", [&] { return std::string(table.table); });
      return;
    }
    while (!request_.stop.stop_requested() && rows.Next()) {
      TakeRow(table, columns, rows, uint64_t{number} << kRowBits);
    }
    if (rows.error().empty()) return;
    losses_.Count("corrupt tables, read up to the first error",
                  [&] { return std::string(table.table) + ": " + rows.error(); });
  }

  static Columns ColumnsOf(const SqliteFile::Rows& rows, const NsightTable& table) {
    auto find = [&](std::string_view name) {
      for (int c = 1; c < rows.columns(); ++c) {
        if (rows.name(c) == name) return c;
      }
      return -1;
    };
    Columns columns = {.start = find("start"),
                       .end = find("end"),
                       .thread = find("globalTid"),
                       .process = find("globalPid"),
                       .device = find("deviceId"),
                       .context = find("contextId"),
                       .stream = find("streamId"),
                       .correlation = find("correlationId"),
                       .node = find("graphNodeId"),
                       .kind = find("copyKind"),
                       .text = find("text"),
                       .type = find("eventType"),
                       .names = {}};
    for (std::string_view rest = table.names; !rest.empty();) {
      const std::string_view name = rest.substr(0, rest.find(' '));
      if (const int column = find(name); column >= 0) columns.names.push_back(column);
      rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    }
    return columns;
  }

  static int64_t Number(const SqliteFile::Rows& rows, int column) {
    return column < 0 ? 0 : rows.Integer(column);
  }

  void TakeRow(const NsightTable& table, const Columns& columns, const SqliteFile::Rows& rows,
               uint64_t where) {
    const int64_t start = rows.Integer(columns.start);
    const bool has_end = columns.end >= 0 && !rows.IsNull(columns.end);
    if (table.place == NsightPlace::kNowhere) {
      const int64_t node = Number(rows, columns.node);
      return launches_.AddNode(Number(rows, columns.thread), start, node);
    }
    constexpr int64_t kMark = 34, kPushed = 59, kStarted = 60;
    const int64_t type = Number(rows, columns.type);
    if (columns.type >= 0 && type != kMark && type != kPushed && type != kStarted) return;
    int64_t end = has_end ? rows.Integer(columns.end) : start;
    if (!has_end && columns.type >= 0 && type != kMark) {
      losses_.Count("unterminated ranges, shown as instants",
                    [&] { return "row " + std::to_string(rows.Integer(0)); });
    }
    const NameId name = NameOf(table, columns, rows);
    OperationId operation;
    LaneId lane;
    if (table.place == NsightPlace::kThread) {
      const int64_t thread = Number(rows, columns.thread);
      if (type == kPushed && has_end) launches_.AddRange(thread, start, end, name);
      if (columns.correlation >= 0)
        launches_.AddCall(thread, start, rows.Integer(columns.correlation));
      lane = LaneOfThread(thread, table);
    } else {
      operation = OperationOf(columns, rows);
      lane = LaneOfStream(Number(rows, columns.device), Number(rows, columns.context),
                          Number(rows, columns.stream));
    }
    Add(lane, start, end, name, operation, where | static_cast<uint64_t>(rows.Integer(0)));
  }

  void Add(LaneId lane, int64_t start, int64_t end, NameId name, OperationId operation,
           uint64_t where) {
    if (!origin_ns_) {
      origin_ns_ = start;
      builder_.set_origin_ns(start);
    }
    auto in_picoseconds = [](std::optional<int64_t> ns) {
      return ns ? CheckedMul(*ns, kPicosecondsInNanosecond) : std::nullopt;
    };
    const auto begin = in_picoseconds(CheckedSub(start, *origin_ns_));
    const auto length = in_picoseconds(CheckedSub(end, start));
    Status added = InputError("its time is out of range");
    if (begin && length) added = builder_.Add(lane, *begin, *length, name, operation, where);
    if (!added)
      losses_.Count("events with out-of-range timestamps", [&] { return added.error().message; });
  }

  NameId NameOf(const NsightTable& table, const Columns& columns, const SqliteFile::Rows& rows) {
    if (columns.text >= 0 && rows.IsText(columns.text))
      return builder_.Name(rows.Text(columns.text));
    for (int column : columns.names) {
      if (rows.IsNull(column)) continue;
      const NameId name = NameNumbered(rows.Integer(column));
      if (name.valid()) return name;
    }
    return builder_.Name(columns.kind >= 0 ? NameOfCopy(rows.Integer(columns.kind))
                                           : table.other_name);
  }

  NameId NameNumbered(int64_t id) {
    auto [entry, is_new] = names_.try_emplace(id);
    if (is_new) {
      const std::string_view text = strings_.Find(id);
      if (!text.empty()) entry->second = builder_.Name(text);
    }
    return entry->second;
  }

  OperationId OperationOf(const Columns& columns, const SqliteFile::Rows& rows) const {
    const int64_t process = Number(rows, columns.process);
    if (columns.node >= 0 && !rows.IsNull(columns.node)) {
      const OperationId of_node = launches_.OfNode(process, rows.Integer(columns.node));
      if (of_node.valid()) return of_node;
    }
    return launches_.OfCall(process, Number(rows, columns.correlation));
  }

  // Streams of several contexts may have the same number.
  LaneId LaneOfStream(int64_t device, int64_t context, int64_t stream) {
    auto [entry, is_new] = streams_.try_emplace({device, context, stream});
    if (!is_new) return entry->second;
    std::string name = "Stream #" + std::to_string(stream);
    const auto first = contexts_.try_emplace(device, context).first->second;
    if (context != first) name += " of context " + std::to_string(context);
    return entry->second = builder_.AddLane(GroupOfDevice(device), name, LaneRole::kStream, stream);
  }

  uint32_t GroupOfDevice(int64_t device) {
    auto [entry, is_new] = devices_.try_emplace(device);
    if (!is_new) return entry->second;
    entry->second = builder_.AddGroup("/device:GPU:" + std::to_string(device), true, device);
    builder_.SetFacts(entry->second, FactsOf(device));
    return entry->second;
  }

  std::vector<Argument> FactsOf(int64_t device) const {
    std::vector<Argument> facts;
    if (!Has("TARGET_INFO_GPU")) return facts;
    SqliteFile::Rows rows(*data_, "SELECT * FROM TARGET_INFO_GPU WHERE id = ?1");
    rows.Bind(device);
    if (!rows.Next()) return facts;
    for (int c = 0; c < rows.columns(); ++c) {
      if (rows.IsNull(c)) continue;
      const std::string name(rows.name(c));
      if (rows.IsText(c)) {
        facts.push_back({name, std::string(rows.Text(c))});
      } else {
        facts.push_back({name, rows.Integer(c)});
      }
      if (name == "memoryBandwidth")
        facts.push_back({"peak_hbm_bw_gigabytes_per_second", rows.Real(c) / 1e9});
    }
    return facts;
  }

  LaneId LaneOfThread(int64_t thread, const NsightTable& table) {
    auto [entry, is_new] = threads_.try_emplace({thread, &table});
    if (!is_new) return entry->second;
    constexpr int64_t kBits = 24, kMask = (int64_t{1} << kBits) - 1;
    const int64_t id = thread & kMask;
    std::string name = FirstText(
        "SELECT value FROM ThreadNames JOIN StringIds ON nameId = id "
        "WHERE globalTid = ?1",
        thread);
    name += (name.empty() ? "thread " : " ") + std::to_string(id);
    name.append(": ").append(table.lane);
    const uint32_t group = GroupOfProcess(thread >> kBits << kBits, (thread >> kBits) & kMask);
    return entry->second = builder_.AddLane(group, name, LaneRole::kThread, id);
  }

  uint32_t GroupOfProcess(int64_t global, int64_t id) {
    auto [entry, is_new] = processes_.try_emplace(global);
    if (!is_new) return entry->second;
    const std::string name = FirstText("SELECT name FROM PROCESSES WHERE globalPid = ?1", global);
    constexpr int64_t kBehindDevices = int64_t{1} << 32;
    return entry->second = builder_.AddGroup(
               name.empty() ? "process " + std::to_string(id) : name + " " + std::to_string(id),
               false, kBehindDevices + id);
  }

  std::string FirstText(const std::string& sql, int64_t parameter) const {
    SqliteFile::Rows rows(*data_, sql);
    rows.Bind(parameter);
    return rows.Next() ? std::string(rows.Text(0)) : std::string();
  }

  // Tables that have rows and no place here, all by name.
  void CountOtherTables() {
    std::vector<std::string> others;
    for (const std::string& table : tables_) {
      const bool is_known = std::ranges::any_of(
          kNsightTables, [&](const NsightTable& row) { return row.table == table; });
      if (is_known || IsLookedUp(table)) continue;
      SqliteFile::Rows rows(*data_, "SELECT 1 FROM " + QuotedTable(table) + " LIMIT 1");
      if (rows.Next()) others.push_back(table);
    }
    for (size_t i = 0; i < others.size(); ++i) {
      losses_.Count("tables that are not read", [&] { return JoinedNames(others); });
    }
  }

  // Tables of names and facts, which are asked where an event refers to them.
  static bool IsLookedUp(std::string_view table) {
    static constexpr std::string_view kTables[] = {"StringIds", "ThreadNames", "PROCESSES"};
    static constexpr std::string_view kBegins[] = {"TARGET_INFO", "META_DATA", "EXPORT_META",
                                                   "ENUM_"};
    return std::ranges::find(kTables, table) != std::end(kTables) ||
           std::ranges::any_of(kBegins, [&](std::string_view b) { return table.starts_with(b); });
  }

  const TraceRequest& request_;
  std::shared_ptr<Profile> profile_;
  std::shared_ptr<SqliteFile> data_;
  StringTable strings_;
  EventStoreBuilder builder_;
  NsightLaunches launches_;
  Losses losses_;
  std::vector<std::string> tables_;
  std::unordered_map<int64_t, NameId> names_;
  std::map<std::tuple<int64_t, int64_t, int64_t>, LaneId> streams_;
  std::map<int64_t, int64_t> contexts_;  // of each device the first
  std::map<int64_t, uint32_t> devices_, processes_;
  std::map<std::pair<int64_t, const NsightTable*>, LaneId> threads_;
  std::optional<int64_t> origin_ns_;
};

}  // namespace

bool IsNsightExport(std::string_view bytes) { return IsSqlite(bytes); }

Result<std::shared_ptr<Profile>> ReadNsightExport(const FileView& file,
                                                  const TraceRequest& request) {
  HLOSCOPE_ASSIGN_OR_RETURN(std::shared_ptr<SqliteFile> data, SqliteFile::Open(file, request.stop));
  return NsightReader(file, request, std::move(data)).Read();
}

}  // namespace hloscope::profiler
