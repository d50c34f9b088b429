// FileWriter: a file written piece by piece that takes its name when it is whole.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/file_calls.h"
#include "core/base/result.h"

namespace hloscope {

// A file that takes its name when it is whole: until Finish it lies beside `path` and what was
// there stays; without Finish nothing remains of it. A link is followed; a device or pipe that
// exists is written to as it is. After an error the next calls return errors too.
class FileWriter {
 public:
  // What is not whole yet is called `path` and `partial`, where that is not empty, so that it is
  // found after its process died; else by a name of no meaning.
  static Result<FileWriter> Create(const std::string& path, std::string_view partial = {},
                                   const FileCalls& calls = SystemFileCalls());
  FileWriter(FileWriter&&) noexcept;
  FileWriter& operator=(FileWriter&&) noexcept;
  ~FileWriter();

  // Handed to the system at once.
  Status Append(std::string_view bytes);
  // Synced and renamed.
  Status Finish();

 private:
  struct State;
  explicit FileWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hloscope
