// What g++ 12, its libraries, LLVM and this program call that glibc 2.28 has not, for files that are linked for it (portable.cmake). Linked
// with hidden visibility into each.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

// 2.32. 0: the process may have several threads, so that counts are atomic.
char __libc_single_threaded = 0;

// 2.36.
uint32_t arc4random(void) {
  uint32_t value = 0;
  char* at = (char*)&value;
  size_t left = sizeof value;
  while (left > 0) {
    const ssize_t got = getrandom(at, left, 0);
    if (got < 0 && errno != EINTR) abort();
    if (got > 0) {
      at += got;
      left -= (size_t)got;
    }
  }
  return value;
}

// 2.35: which file's code an address is in, and where that file's table for unwinding lies. libgcc asks nothing else, so an exception
// that this does not find its way for ends the process.
struct Search {
  uintptr_t address;
  struct dl_find_object* result;
};

static int FindIn(struct dl_phdr_info* file, size_t size, void* data) {
  (void)size;
  struct Search* search = data;
  uintptr_t begin = UINTPTR_MAX, end = 0, table = 0;
  int is_it = 0;
  for (int i = 0; i < file->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &file->dlpi_phdr[i];
    const uintptr_t at = file->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_GNU_EH_FRAME) table = at;
    if (part->p_type != PT_LOAD) continue;
    if (at < begin) begin = at;
    if (at + part->p_memsz > end) end = at + part->p_memsz;
    is_it |= search->address - at < part->p_memsz;
  }
  if (!is_it) return 0;
  memset(search->result, 0, sizeof *search->result);
  search->result->dlfo_map_start = (void*)begin;
  search->result->dlfo_map_end = (void*)end;
  search->result->dlfo_eh_frame = (void*)table;
  return 1;
}

int _dl_find_object(void* address, struct dl_find_object* result) {
  struct Search search = {(uintptr_t)address, result};
  return dl_iterate_phdr(&FindIn, &search) == 1 ? 0 : -1;
}

// 2.34: the child of posix_spawn closes what is open now from `first` on.
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t* actions, int first) {
  DIR* folder = opendir("/proc/self/fd");
  if (folder == NULL) return errno;
  int error = 0;
  for (const struct dirent* entry = readdir(folder); entry != NULL && error == 0; entry = readdir(folder)) {
    const int fd = atoi(entry->d_name);
    if (entry->d_name[0] != '.' && fd >= first && fd != dirfd(folder)) error = posix_spawn_file_actions_addclose(actions, fd);
  }
  closedir(folder);
  return error;
}

// 2.32.
const char* sigabbrev_np(int number) {
  static const char* const names[] = {
      [SIGHUP] = "HUP",   [SIGINT] = "INT",   [SIGQUIT] = "QUIT", [SIGILL] = "ILL",   [SIGTRAP] = "TRAP", [SIGABRT] = "ABRT",     [SIGBUS] = "BUS",
      [SIGFPE] = "FPE",   [SIGKILL] = "KILL", [SIGUSR1] = "USR1", [SIGSEGV] = "SEGV", [SIGUSR2] = "USR2", [SIGPIPE] = "PIPE",     [SIGALRM] = "ALRM",
      [SIGTERM] = "TERM", [SIGCHLD] = "CHLD", [SIGCONT] = "CONT", [SIGSTOP] = "STOP", [SIGTSTP] = "TSTP", [SIGTTIN] = "TTIN",     [SIGTTOU] = "TTOU",
      [SIGURG] = "URG",   [SIGXCPU] = "XCPU", [SIGXFSZ] = "XFSZ", [SIGPROF] = "PROF", [SIGVTALRM] = "VTALRM", [SIGWINCH] = "WINCH", [SIGPOLL] = "POLL",
      [SIGPWR] = "PWR",   [SIGSYS] = "SYS"};
  return number > 0 && (size_t)number < sizeof names / sizeof *names ? names[number] : NULL;
}

// 2.30.
pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }
ssize_t getdents64(int fd, void* buffer, size_t size) { return syscall(SYS_getdents64, fd, buffer, size); }

// 2.33. LLVM asks how much memory it has for statistics that nobody prints.
struct mallinfo2 mallinfo2(void) {
  const struct mallinfo2 nothing = {0};
  return nothing;
}

// 2.30: waiting by another clock than the one of the system. The deadline is moved to that clock.
static struct timespec OnSystemClock(clockid_t clock, const struct timespec* deadline) {
  struct timespec now, system;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &system);
  struct timespec moved = {system.tv_sec + deadline->tv_sec - now.tv_sec, system.tv_nsec + deadline->tv_nsec - now.tv_nsec};
  const long second = 1000000000L;
  while (moved.tv_nsec < 0) {
    moved.tv_nsec += second;
    --moved.tv_sec;
  }
  while (moved.tv_nsec >= second) {
    moved.tv_nsec -= second;
    ++moved.tv_sec;
  }
  return moved;
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const struct timespec* deadline) {
  const struct timespec moved = OnSystemClock(clock, deadline);
  return pthread_cond_timedwait(condition, mutex, &moved);
}

int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const struct timespec* deadline) {
  const struct timespec moved = OnSystemClock(clock, deadline);
  return pthread_mutex_timedlock(mutex, &moved);
}
