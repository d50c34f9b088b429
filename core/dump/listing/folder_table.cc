// Folders one behind the other, found by path.
#include "core/dump/listing/folder_table.h"

#include <algorithm>

#include "core/dump/listing/packed_bytes.h"

namespace hloscope::dump {
namespace {

// Takes a text without copying it; false where `bytes` end before it does.
bool TakeView(std::string_view& bytes, std::string_view& text) {
  uint64_t size = 0;
  if (!TakePacked(bytes, size) || size > bytes.size()) return false;
  text = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return true;
}

}  // namespace

void FolderTable::Add(const Folder& folder) {
  PutPacked(bytes_, folder.inode);
  PutPacked(bytes_, folder.changed_ns);
  PutPackedText(bytes_, folder.path);
  PutPackedText(bytes_, folder.entries);
}

std::optional<FolderTable> FolderTable::Read(std::string bytes) {
  FolderTable table;
  table.read_ = std::make_shared<const std::string>(std::move(bytes));
  std::string_view rest = *table.read_;
  while (!rest.empty()) {
    Folder folder;
    bool whole = TakePacked(rest, folder.inode) && TakePacked(rest, folder.changed_ns) &&
                 TakeView(rest, folder.path) && TakeView(rest, folder.entries) &&
                 (folder.entries.empty() || folder.entries.back() == '\0');
    if (!whole) return std::nullopt;
    table.folders_.push_back(folder);
  }
  std::ranges::sort(table.folders_, {}, &Folder::path);
  return table;
}

const FolderTable::Folder* FolderTable::Find(std::string_view path) const {
  auto at = std::ranges::lower_bound(folders_, path, {}, &Folder::path);
  return at != folders_.end() && at->path == path ? &*at : nullptr;
}

}  // namespace hloscope::dump
