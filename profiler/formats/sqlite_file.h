// SqliteFile: a database in memory that is only read, through the SQLite of the system, which is
// loaded when the first one is opened. Nothing in it is trusted: no views, no triggers, no virtual
// tables, and no more rows than its bytes can hold.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/file.h"
#include "core/base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace hloscope::profiler {

bool IsSqlite(std::string_view bytes);
// The name as SQL takes it, whatever is in it.
std::string QuotedTable(std::string_view name);

class SqliteFile {
 public:
  // An environment error where SQLite is not installed, an input error for what it refuses. A file
  // that was cut off is opened as far as it goes.
  static Result<std::unique_ptr<SqliteFile>> Open(const FileView& file,
                                                  const std::stop_token& stop = {});
  ~SqliteFile();
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  // The file has fewer pages than it says.
  bool is_cut() const { return !patched_.empty(); }
  // Ordinary tables, in the order of the schema; an input error where that cannot be read.
  Result<std::vector<std::string>> Tables() const;
  // Of an ordinary table; empty where there is none of that name.
  std::vector<std::string> Columns(const std::string& table) const;

  // The rows of a SELECT, one after another.
  class Rows {
   public:
    Rows(const SqliteFile& file, const std::string& sql);
    ~Rows();
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;

    void Bind(int64_t value);  // the one parameter, and from the first row again
    bool Next();
    // Why there was no next row; empty at the end.
    const std::string& error() const { return error_; }

    int columns() const;
    std::string_view name(int column) const;
    bool IsNull(int column) const;
    bool IsText(int column) const;
    bool IsReal(int column) const;
    int64_t Integer(int column) const;  // 0 for what is no number
    double Real(int column) const;
    std::string_view Text(int column) const;  // until the next call of Next

   private:
    const SqliteFile& file_;
    sqlite3_stmt* statement_ = nullptr;
    uint64_t count_ = 0;
    std::string error_;
  };

 private:
  SqliteFile(FileView file, const std::stop_token& stop) : file_(std::move(file)), stop_(stop) {}
  Status OpenDatabase();
  static int Progress(void* self);

  FileView file_;
  std::stop_token stop_;
  std::string patched_;  // the bytes with the number of pages there are
  sqlite3* database_ = nullptr;
};

}  // namespace hloscope::profiler
