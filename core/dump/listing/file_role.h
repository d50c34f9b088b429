// What a file of a dump is for, decided by its name (file_roles.def), and the parts of that name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/dump/listing/sniff.h"

namespace hloscope::dump {

enum class FileRole : uint8_t {
#define FILE_ROLE(role, name, patterns, stage, kinds, end, flag, reader, description) role,
#include "core/dump/listing/file_roles.def"
#undef FILE_ROLE
};
constexpr size_t kFileRoles = static_cast<size_t>(FileRole::kUnknown) + 1;

// Which stage of its module a file belongs to.
enum class StageOf : uint8_t { kNone, kOwn, kFirst, kFinal };

// How a whole text ends.
enum class TextEnd : uint8_t { kAny, kLine, kBrace };

struct FileRoleRow {
  std::string_view name, patterns;
  StageOf stage;
  std::string_view kinds;
  TextEnd end;
  std::string_view flag, reader, description;
};
const FileRoleRow& RowOf(FileRole role);
std::string_view ToString(FileRole role);
// False where a file of that role cannot hold such content: it was swapped, cut or emptied.
bool MayHold(FileRole role, FileKind kind);

// Whether a file of that name is what a program printed.
bool IsLogName(std::string_view name);

// How a name, or the end of one, matched a pattern.
struct RoleMatch {
  FileRole role = FileRole::kUnknown;
  std::string_view stage;   // what <point> or <step> stood for
  std::string_view detail;  // what the first <any> stood for: a fusion, an LLVM module, …
};
// The role of a name whose `module_NNNN.<module>.` was taken off; nullopt for none.
std::optional<RoleMatch> MatchRole(std::string_view suffix);

// The same where the length of the module's name is not known: its start is found by what cannot
// be part of a name (points, steps, fixed words). `at` is where the suffix begins.
struct FoundRole {
  RoleMatch match;
  size_t at = 0;
};
std::optional<FoundRole> FindRole(std::string_view rest);

// The fixed parts of a file name: [<before>.][<timestamp>.]module_<id>[.<rest>][.gz].
struct DumpFileName {
  std::string_view before;     // "main.3" of fusion visualisations, "triton_ir", …
  std::string_view timestamp;  // at least ten digits
  int64_t id = -1;
  std::string_view rest;  // the module's name and what follows
};
// nullopt for names that hold no module_<id>.
std::optional<DumpFileName> ParseDumpFileName(std::string_view file_name);

// The file name without its folder and without `.gz`.
std::string_view BareFileName(std::string_view path);

// Of a graph of TensorFlow: "mark_for_compilation_2" of DIR/mark_for_compilation_2.pbtxt.gz, and
// the point at which it was dumped, "mark_for_compilation".
std::string_view GraphStemOf(std::string_view path);
std::string_view GraphPointOf(std::string_view path);

// What a step's name says: "0003.simplification.after_dce.before_cse" ran "dce" of
// "simplification"; a point's name leaves both empty.
struct StepName {
  int64_t number = -1;
  std::string_view pipeline, pass;
};
StepName ParseStep(std::string_view stage);

}  // namespace hloscope::dump
