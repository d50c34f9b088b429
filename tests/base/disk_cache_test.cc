// What a cache on disk keeps, and what it takes for absent.
#include "core/base/disk_cache.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace hloscope {
namespace {

namespace fs = std::filesystem;

constexpr DiskCache::Words kStamp = {1, 2};

class DiskCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("hloscope-disk-cache-" + std::to_string(getpid()));
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path OnlyFile() const { return fs::directory_iterator(folder_)->path(); }
  void Flip(std::streamoff at, int bit) const {
    std::fstream file(OnlyFile(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const int byte = file.get();
    file.seekp(at);
    file.put(static_cast<char>(byte ^ (1 << bit)));
  }

  fs::path folder_;
};

TEST_F(DiskCacheTest, AnyFlippedBitMakesAnEntryAbsentUntilItIsReplaced) {
  const DiskCache cache(folder_.string(), 1 << 20);
  const std::string bytes = "the bytes of an entry, which are many more than the words they are in";
  cache.Store("a", kStamp, bytes);
  const auto size = static_cast<std::streamoff>(fs::file_size(OnlyFile()));
  for (std::streamoff at = 0; at < size; ++at) {
    Flip(at, static_cast<int>(at % 8));
    const auto found = cache.Load("a", kStamp);
    const bool is_padding = found == bytes;  // of the head, which nobody reads
    EXPECT_TRUE(!found || (is_padding && at >= 40 && at < 64)) << at;
    cache.Store("a", kStamp, bytes);
    EXPECT_EQ(cache.Load("a", kStamp), bytes) << at;
  }
  fs::resize_file(OnlyFile(), static_cast<uintmax_t>(size - 1));
  EXPECT_FALSE(cache.Load("a", kStamp));
}

TEST_F(DiskCacheTest, EntriesThatOthersMayWriteAreAbsent) {
  const DiskCache cache(folder_.string(), 1 << 20);
  cache.Store("a", kStamp, "bytes");
  for (const mode_t mode : {0666, 0664, 0602}) {
    chmod(OnlyFile().c_str(), mode);
    EXPECT_FALSE(cache.Load("a", kStamp)) << mode;
    EXPECT_NE(cache.WhyRefused("a"), "");
    // The next is its user's alone, whatever the umask.
    const mode_t before = umask(0002);
    cache.Store("a", kStamp, "bytes");
    umask(before);
    EXPECT_EQ(cache.Load("a", kStamp), "bytes");
    EXPECT_EQ(fs::status(OnlyFile()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  }
  // Nothing is written through a link.
  const fs::path entry = OnlyFile(), victim = folder_.string() + "-victim";
  std::ofstream(victim) << "precious";
  fs::remove(entry);
  fs::create_symlink(victim, entry);
  cache.Store("a", kStamp, "bytes");
  EXPECT_EQ(cache.Load("a", kStamp), "bytes");
  EXPECT_EQ(fs::file_size(victim), 8u);
  fs::remove(victim);
}

TEST_F(DiskCacheTest, WhatIsUsedStaysLongest) {
  const DiskCache cache(folder_.string(), 4000);
  const std::string bytes(1000, 'x');
  for (const char* name : {"a", "b", "c"}) {
    cache.Store(name, kStamp, bytes);
    const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
    for (const auto& file : fs::directory_iterator(folder_)) fs::last_write_time(file, old);
  }
  EXPECT_TRUE(cache.Load("a", kStamp));
  cache.Store("d", kStamp, bytes);
  EXPECT_TRUE(cache.Load("a", kStamp));
  EXPECT_TRUE(cache.Load("d", kStamp));
  EXPECT_LE(cache.Used().bytes, 4000);
  EXPECT_EQ(cache.Used().files, 3);
}

TEST_F(DiskCacheTest, AFullDiskOrNoFolderLeavesNothing) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "file") << "no folder";
  const DiskCache nowhere((folder_ / "file" / "below").string(), 1 << 20);
  nowhere.Store("a", kStamp, "bytes");
  EXPECT_FALSE(nowhere.Load("a", kStamp));
  EXPECT_EQ(nowhere.Used().files, 0);

  // Writes end as on a full disk.
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_IGN);
  const rlimit full{100, before.rlim_max};
  const DiskCache cache((folder_ / "full").string(), 1 << 20);
  setrlimit(RLIMIT_FSIZE, &full);
  cache.Store("a", kStamp, std::string(1000, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_FALSE(cache.Load("a", kStamp));
  EXPECT_EQ(cache.Used().files, 0);
}

TEST_F(DiskCacheTest, WritersAtOnceLeaveWholeEntries) {
  const DiskCache cache(folder_.string(), 1 << 20);
  std::vector<std::thread> threads;
  for (int k = 0; k < 8; ++k) {
    threads.emplace_back([&, k] {
      for (int i = 0; i < 20; ++i) {
        cache.Store("a", kStamp, std::string(5000, static_cast<char>('a' + k)));
        const auto found = cache.Load("a", kStamp);
        EXPECT_TRUE(found && *found == std::string(5000, (*found)[0]));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hloscope
