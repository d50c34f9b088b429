// What the heads of files said before, so that only files that changed are opened again.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dump/listing/file_role.h"
#include "core/dump/listing/sniff.h"
#include "core/dump/listing/stage_counts.h"

namespace hloscope::dump {

struct ListedFile;

// A file as it was: another path, size, time or inode gives another key.
using FileKey = std::array<uint64_t, 2>;
FileKey KeyOf(const ListedFile& file);
int64_t NowNs();  // as times of files count
// False where the file changed so lately that another change might leave no trace in its key.
bool IsSettledTime(int64_t changed_ns, int64_t now_ns);
bool IsSettled(const ListedFile& file, int64_t now_ns);

struct FileHead {
  FileKind kind = FileKind::kUnknown;
  TextEnd end = TextEnd::kAny;
  bool counted =
      false;  // `counts` were asked for; absent then, only reading the module whole tells
  std::optional<StageCounts> counts;
  std::string problem;  // of reading, empty for none
};

class HeadTable {
 public:
  void Add(const FileKey& key, FileHead head) { heads_.push_back({key, std::move(head)}); }
  // To be called after the last Add and before the first Find.
  void Sort();
  const FileHead* Find(const FileKey& key) const;  // null: not known

  // Appends the table to `out`, and takes it off the start of `bytes`; nullopt where they hold
  // none.
  void Write(std::string& out) const;
  static std::optional<HeadTable> Take(std::string_view& bytes);

 private:
  struct Known {
    FileKey key;
    FileHead head;
  };
  std::vector<Known> heads_;
};

}  // namespace hloscope::dump
