// FuzzFolder: what a hunt leaves behind, so that it goes on where it was killed, and so that others
// can hunt beside it: findings-RANK.jsonl (a line a fault, appended), unstable-RANK.jsonl (a line a
// program that fails in another way each time), progress-RANK.json (replaced as a whole) and two
// files a fault.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "core/debug/reduce/hunt/finding.h"
#include "core/debug/reduce/hunt/unstable.h"

namespace hloscope::debug {

// What has been done of a rank's share.
struct FuzzProgress {
  std::string what;       // seed, ranks, platforms, modules: what the numbers mean
  uint64_t next = 0;      // the first program that is not done yet
  int64_t programs = 0;   // run
  int64_t refused = 0;    // a platform does not run them, or they are unsound mutants
  int64_t differing = 0;  // of the programs
  int64_t explained = 0;  // of the differing ones: rounding and the like, by what was tried
  int64_t unstable =
      0;  // of the programs: fail in another way each time, and count as nothing else
  double seconds = 0;
  std::map<std::string, int64_t> reasons;         // of `refused` and `explained`, by their text
  std::vector<std::string> explained_signatures;  // that are not looked into again
};

class FuzzFolder {
 public:
  // Makes the folder where it is not there, and keeps other hunts of that rank out while it lives.
  // A line that was cut off is dropped. Errors: input where one hunts there now, the folder's
  // progress is of another hunt, or a file is none of ours; environment.
  static Result<FuzzFolder> Open(const std::string& path, int64_t rank, std::string what,
                                 const Limits& limits);

  const std::string& path() const { return path_; }
  FuzzProgress& progress() { return progress_; }
  const FuzzProgress& progress() const { return progress_; }
  // Of all ranks, each fault once, as they were when last read.
  const std::vector<Finding>& findings() const { return findings_; }
  // Likewise, each program once.
  const std::vector<UnstableProgram>& unstable() const { return unstable_; }
  // Reads what other ranks have found since, and no line twice.
  Status Reread();

  // The line, on disk when this returns.
  Status Append(const Finding& finding);
  Status Append(const UnstableProgram& program);
  Status SaveProgress();

 private:
  FuzzFolder(std::string path, int64_t rank, Limits limits);
  std::string FileOf(std::string_view stem, std::string_view ending) const;
  Status Lock();
  Status DropUnfinishedLine(std::string_view stem);
  Status ReadProgress(const std::string& what);
  template <typename Parse>
  Status ReadLines(std::string_view stem, const Parse& parse);
  Status AppendLine(std::string_view stem, const std::string& line);
  void Take(Finding finding);
  void Take(UnstableProgram program);

  std::string path_;
  UniqueFd lock_;
  int64_t rank_;
  Limits limits_;
  FuzzProgress progress_;
  std::vector<Finding> findings_;
  std::vector<UnstableProgram> unstable_;
  std::map<std::string, int64_t> read_;  // bytes of whole lines, by file
};

}  // namespace hloscope::debug
