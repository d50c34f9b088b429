// Profile: a trace that was read, whatever its format, and what got lost on the way; and which
// files are traces. A format is a row of trace_formats.def and the file of its reader.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/file.h"
#include "core/base/jobs.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "profiler/event_store.h"

namespace hloscope::profiler {

enum class ProfileFormat : uint8_t {
#define TRACE_FORMAT(kind, name, endings, title, test, read, written, write) kind,
#include "profiler/trace_formats.def"
#undef TRACE_FORMAT
};
std::string_view ToString(ProfileFormat format);

// A module that the trace carries: an HloProto in wire format, HLO text, or neither.
struct EmbeddedModule {
  std::string name;
  int64_t program = -1;
  std::string_view hlo_proto = {}, hlo_text = {};  // bytes of the file, or
  std::shared_ptr<const std::string> owned = {};   // of this
  std::string fingerprint = {};                    // empty: none was written
};

// Something that could not be taken into the store: how often, and the first case in words.
struct Loss {
  std::string what;
  int64_t count = 0;
  std::string first;
};

struct Profile {
  Profile(FileView opened, ProfileFormat kind) : file(std::move(opened)), format(kind) {}

  FileView file;
  ProfileFormat format;
  std::shared_ptr<const EventStore> store;
  std::vector<EmbeddedModule> modules;  // of ascending program
  // The trace of the same run beside this one that carries them, where this one has none.
  std::optional<FileView> modules_file;
  std::vector<std::string> hosts;
  // What was written down of the machine and the run: "CPU", "two cores".
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> errors, warnings;  // of whoever recorded the trace
  std::vector<Loss> losses;                   // ours
};

struct TraceRequest {
  const Limits& limits;
  Jobs& jobs;
  const std::stop_token& stop;
  bool only_modules = false;  // events may be left out
  // The bytes need not be kept where the file of that path has them: arguments are read again.
  bool may_reread = false;
};

class Attribution;

struct WriteRequest {
  const Profile& profile;
  const Attribution* attribution = nullptr;  // for formats that show it; null: none is known
  std::string path;
};

// For each format: whether bytes are of it, as far as their structure tells (a file that was cut
// off is one still), its reader, and its writer, which returns what the format cannot hold.
#define TRACE_FORMAT(kind, name, endings, title, test, read, written, write)                \
  bool test(std::string_view bytes);                                                        \
  Result<std::shared_ptr<Profile>> read(const FileView& file, const TraceRequest& request); \
  Result<std::vector<Loss>> write(const WriteRequest& request);
#include "profiler/trace_formats.def"
#undef TRACE_FORMAT

// Writes a profile in the format that the name of the file says, packed where it ends with .gz. An
// input error for other names; else those of writing.
Result<std::vector<Loss>> WriteProfile(const WriteRequest& request);
// An input error where WriteProfile would refuse the name.
Status CheckWritten(std::string_view path);
// How files may be called that a profile is written to: "*.a or *.b".
std::string WrittenNames();

// Whether the bytes are of any format, or a file is called as traces are.
bool IsTrace(std::string_view bytes);
bool IsTraceName(std::string_view path);
// Those of the first format that any of `paths` has, sorted.
std::vector<std::string> PreferredTraces(const std::vector<std::string>& paths);
// The traces below a folder, as TensorBoard lays them out: PreferredTraces of all. Errors: none, or
// the folder cannot be read.
Result<std::vector<std::string>> TracesBelow(const std::string& folder, const Limits& limits);
// How files of traces are called, for messages: "*.a or *.b".
std::string TraceNames();

// Reads a trace, of any format and packed or not; decides by content. Modules that it does not
// carry are taken from the trace of another format beside it that has its name. OpenProfile keeps
// no bytes that can be read again. Errors: the file cannot be read, is no trace, or is broken
// before the first event; what is broken later is a loss. kCancelled where `stop` was requested.
Result<std::shared_ptr<const Profile>> OpenProfile(const std::string& path, const Limits& limits,
                                                   Jobs& jobs, const std::stop_token& stop = {});
Result<std::shared_ptr<const Profile>> ReadProfile(const FileView& file, const Limits& limits,
                                                   Jobs& jobs, const std::stop_token& stop = {});

}  // namespace hloscope::profiler
