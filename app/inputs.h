// The files a command works on: folders become their module files, problems become lines.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/dump/load.h"

namespace hloscope::app {

// `paths` with every directory replaced by the module files in it. Errors: a directory that cannot
// be read.
Result<std::vector<std::string>> ExpandDirectories(const std::vector<std::string>& paths,
                                                   const Limits& limits);

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
