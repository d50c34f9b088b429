// SecondDump: the dump that the open one is compared with, read in the background; what is open
// stays as it is.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {

class SecondDump {
 public:
  /// `wake` is called from any thread when there is news.
  SecondDump(const Limits& limits, std::function<void()> wake, Tasks& tasks, Messages& messages)
      : tasks_(tasks),
        messages_(messages),
        document_(limits, std::move(wake)),
        cache_(tasks),
        data_(document_, cache_) {}

  /// In place of the second dump that was open.
  void Open(std::string path);
  void Close() { Open({}); }
  /// Reads it again: positions in either dump are void.
  void ReadAgain() { Open(path_); }
  /// Says once that its files have changed; true if there was anything.
  bool Update();

  bool is_open() const { return !path_.empty(); }
  const std::string& path() const { return path_; }
  /// kNone where the path holds no dump.
  const Pending<dump::DumpModel>& dump() const { return document_.dump(); }
  /// A number of this reading, never 0; positions are those of one reading.
  uint64_t reading() const { return document_.life(); }
  DumpData& data() { return data_; }
  /// What depends on both dumps; forgotten with either.
  TaskCache& cache() { return cache_; }

 private:
  Tasks& tasks_;
  Messages& messages_;
  std::string path_;
  Document document_;
  TaskCache cache_;
  DumpData data_;
};

}  // namespace hloscope::viewer
