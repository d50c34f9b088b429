// The files a command works on: folders become their module files, problems become lines.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/command.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/dump/dump_model.h"
#include "core/dump/load.h"

namespace hloscope::app {

// Files to work on, and the paths that stand for none, with the reason.
struct ExpandedPaths {
  std::vector<std::string> files;
  std::vector<std::pair<std::string, Error>> failed;

  /// Reports those that failed, whose JSON objects name them as `key`; the exit status.
  int ReportFailed(std::string_view key, const Context& context) const;
};

/// `paths` with every directory replaced by the files that `files_in` finds in it. One that cannot
/// be read, or has none, which `none` says, failed.
using FilesIn = std::function<std::vector<std::string>(const dump::DumpModel& model)>;
ExpandedPaths ExpandDirectories(const std::vector<std::string>& paths, const Limits& limits,
                                const FilesIn& files_in,
                                std::string_view none = "no module in this folder");

/// Of a path in which there is no module: what it has instead that may hold one, and what to do;
/// empty for a file of which nothing is known.
std::string HintWithoutModules(const std::string& path, const dump::DumpModel& model);

/// The module files of a dump, also those that are called modules and cannot be read.
std::vector<std::string> ModuleFilesIn(const dump::DumpModel& model);

/// Those of them that DumpModel::Module reads: of a stage's text and proto the proto.
std::vector<std::string> StageFilesIn(const dump::DumpModel& model);

// "file:line:column: error: message [rule] (hint)" lines for everything found in a file.
std::string ProblemLines(const dump::LoadedModule& loaded,
                         const std::vector<hlo::Diagnostic>& diagnostics);

// Every error of reading `loaded` on standard error; true if there was one.
bool PrintReadErrors(const dump::LoadedModule& loaded);

// Texts produced out of order, written to standard output in order as soon as all before them are
// there.
class OrderedOutput {
 public:
  void Put(size_t index, std::string text);

 private:
  std::mutex mutex_;
  size_t next_ = 0;
  std::map<size_t, std::string> waiting_;
};

}  // namespace hloscope::app
