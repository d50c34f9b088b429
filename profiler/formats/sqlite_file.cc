// The calls of SQLite.
#include "profiler/formats/sqlite_file.h"

#include <sqlite3.h>

#include <algorithm>

namespace hloscope::profiler {
namespace {

constexpr std::string_view kSqliteMagic("SQLite format 3\0", 16);

uint64_t BigEndian(std::string_view bytes, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

}  // namespace

std::string QuotedTable(std::string_view name) {
  std::string out = "\"";
  for (char c : name) out.append(c == '"' ? 2 : 1, c);
  return out + '"';
}

bool IsSqlite(std::string_view bytes) { return bytes.starts_with(kSqliteMagic); }

Result<std::unique_ptr<SqliteFile>> SqliteFile::Open(const FileView& file,
                                                     const std::stop_token& stop) {
  auto opened = std::unique_ptr<SqliteFile>(new SqliteFile(file, stop));
  HLOSCOPE_TRY(opened->OpenDatabase());
  return opened;
}

Status SqliteFile::OpenDatabase() {
  constexpr size_t kHeader = 100;
  std::string_view bytes = file_.bytes();
  if (bytes.size() < kHeader)
    return InputError(file_.path() + ": truncated inside the SQLite header");
  if (bytes[18] == 2 || bytes[19] == 2) {
    return InputError(file_.path() + ": has a write-ahead log next to it that is not part of it",
                      "sqlite3 FILE 'PRAGMA journal_mode=delete', then again");
  }
  const uint64_t stated = BigEndian(bytes, 16, 2), page = stated == 1 ? 65536 : stated;
  const uint64_t pages = BigEndian(bytes, 28, 4);
  if (page >= 512 && pages > bytes.size() / page) {
    patched_ = bytes.substr(0, std::max<uint64_t>(bytes.size() / page, 1) * page);
    patched_.resize(std::max<uint64_t>(bytes.size() / page, 1) * page, '\0');
    const uint64_t whole = patched_.size() / page;
    for (size_t i = 0; i < 4; ++i) patched_[28 + i] = static_cast<char>(whole >> (8 * (3 - i)));
    bytes = patched_;
  }
  const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_MEMORY | SQLITE_OPEN_FULLMUTEX;
  if (sqlite3_open_v2(":memory:", &database_, flags, nullptr) != SQLITE_OK)
    return EnvironmentError(file_.path() + ": SQLite cannot open a database in memory");
  for (int on : {SQLITE_DBCONFIG_DEFENSIVE}) sqlite3_db_config(database_, on, 1, nullptr);
  for (int off : {SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_VIEW,
                  SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION}) {
    sqlite3_db_config(database_, off, 0, nullptr);
  }
  sqlite3_limit(database_, SQLITE_LIMIT_LENGTH, 64 << 20);
  constexpr int kSteps = 100'000;
  sqlite3_progress_handler(database_, kSteps, &SqliteFile::Progress, this);
  auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  if (sqlite3_deserialize(database_, "main", data, size, size, SQLITE_DESERIALIZE_READONLY) !=
      SQLITE_OK) {
    return InputError(file_.path() + ": " + sqlite3_errmsg(database_));
  }
  return {};
}

SqliteFile::~SqliteFile() {
  if (database_ != nullptr) sqlite3_close_v2(database_);
}

int SqliteFile::Progress(void* self) {
  return static_cast<SqliteFile*>(self)->stop_.stop_requested() ? 1 : 0;
}

Result<std::vector<std::string>> SqliteFile::Tables() const {
  std::vector<std::string> tables;
  Rows rows(*this,
            // A virtual table has no page of its own.
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND "
            "name NOT LIKE 'sqlite\\_%' ESCAPE '\\'");
  while (rows.Next()) tables.emplace_back(rows.Text(0));
  if (!rows.error().empty() && tables.empty())
    return InputError(file_.path() + ": " + rows.error());
  return tables;
}

std::vector<std::string> SqliteFile::Columns(const std::string& table) const {
  std::vector<std::string> columns;
  Rows rows(*this, "SELECT * FROM " + QuotedTable(table) + " LIMIT 0");
  for (int c = 0; c < rows.columns(); ++c) columns.emplace_back(rows.name(c));
  return columns;
}

SqliteFile::Rows::Rows(const SqliteFile& file, const std::string& sql) : file_(file) {
  const int result = sqlite3_prepare_v2(file_.database_, sql.c_str(), static_cast<int>(sql.size()),
                                        &statement_, nullptr);
  if (result != SQLITE_OK) error_ = sqlite3_errmsg(file_.database_);
}

SqliteFile::Rows::~Rows() { sqlite3_finalize(statement_); }

void SqliteFile::Rows::Bind(int64_t value) {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  count_ = 0;
  sqlite3_bind_int64(statement_, 1, value);
}

bool SqliteFile::Rows::Next() {
  if (statement_ == nullptr) return false;
  // Pages of a file that lies may be met again and again.
  if (++count_ > file_.file_.bytes().size()) {
    error_ = "more rows than its bytes can hold";
    return false;
  }
  const int result = sqlite3_step(statement_);
  if (result == SQLITE_ROW) return true;
  if (result != SQLITE_DONE) error_ = sqlite3_errmsg(file_.database_);
  return false;
}

int SqliteFile::Rows::columns() const {
  return statement_ == nullptr ? 0 : sqlite3_column_count(statement_);
}
std::string_view SqliteFile::Rows::name(int column) const {
  const char* text = sqlite3_column_name(statement_, column);
  return text == nullptr ? std::string_view() : std::string_view(text);
}
bool SqliteFile::Rows::IsNull(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}
bool SqliteFile::Rows::IsText(int column) const {
  const int type = sqlite3_column_type(statement_, column);
  return type == SQLITE_TEXT || type == SQLITE_BLOB;
}
bool SqliteFile::Rows::IsReal(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_FLOAT;
}
int64_t SqliteFile::Rows::Integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}
double SqliteFile::Rows::Real(int column) const {
  return sqlite3_column_double(statement_, column);
}
std::string_view SqliteFile::Rows::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (text == nullptr) return {};
  return {text, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

}  // namespace hloscope::profiler
