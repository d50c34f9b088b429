// A server that forks: a crash of a command ends that command only.
#include "app/serve.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "app/command.h"
#include "core/base/strings.h"
#include "core/base/unique_fd.h"

namespace hloscope::app {
namespace {

struct Request {
  std::string folder;
  std::vector<std::string> words, variables;
  UniqueFd output, errors;
};

constexpr size_t kMaxBytes = 1 << 18;

// A message and the files that come with it; nothing at the end of the socket.
std::optional<std::string> Receive(int socket, std::array<UniqueFd, 2>& files) {
  std::string bytes(kMaxBytes, '\0');
  iovec part = {bytes.data(), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t size = 0;
  do {
    size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size <= 0) return std::nullopt;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr;
       head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t k = 0; k < count && k < files.size(); ++k) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(head) + k * sizeof(int), sizeof fd);
      files[k] = UniqueFd(fd);
    }
  }
  bytes.resize(static_cast<size_t>(size));
  return bytes;
}

std::optional<Request> ReadRequest(std::string_view text, std::array<UniqueFd, 2> files) {
  if (!files[1].valid() || !text.ends_with('\0')) return std::nullopt;
  text.remove_suffix(1);
  const std::vector<std::string_view> parts = StrSplit(text, '\0');
  size_t count = 0;
  std::from_chars(parts[0].data(), parts[0].data() + parts[0].size(), count);
  if (parts.size() < 2 || count > parts.size() - 2) return std::nullopt;
  Request request;
  request.folder = parts[1];
  const auto words = parts.begin() + 2, variables = words + static_cast<std::ptrdiff_t>(count);
  request.words.assign(words, variables);
  request.variables.assign(variables, parts.end());
  request.output = std::move(files[0]);
  request.errors = std::move(files[1]);
  return request;
}

// In the forked process: what an exec would give a program.
void Become(const Request& request, const sigset_t& mask) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGINT, SIG_DFL);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  dup2(request.output.get(), STDOUT_FILENO);
  dup2(request.errors.get(), STDERR_FILENO);
  clearenv();
  for (const std::string& variable : request.variables) {
    const size_t equals = variable.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
  }
  if (chdir(request.folder.c_str()) != 0) std::perror(request.folder.c_str());
}

void Answer(int socket, int status) {
  const std::string text = WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                               : fmt::format("status {}", WEXITSTATUS(status));
  (void)!send(socket, text.data(), text.size(), MSG_NOSIGNAL);
}

// Until the child ends, whose status is answered. False: the socket was closed.
bool WaitFor(pid_t child, int socket, int signals) {
  std::array<pollfd, 2> waits = {{{socket, POLLIN, 0}, {signals, POLLIN, 0}}};
  while (true) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) {
      Answer(socket, status);
      return true;
    }
    if (poll(waits.data(), waits.size(), -1) < 0) continue;
    if (waits[1].revents != 0) {
      signalfd_siginfo ignored{};
      (void)!read(signals, &ignored, sizeof ignored);
    }
    if (waits[0].revents == 0) continue;
    std::array<UniqueFd, 2> files;
    const std::optional<std::string> text = Receive(socket, files);
    int number = SIGKILL;
    if (text) std::from_chars(text->data(), text->data() + text->size(), number);
    kill(child, number);
    if (text) continue;
    waitpid(child, nullptr, 0);
    return false;
  }
}

}  // namespace

std::optional<std::vector<std::string>> ServeRequests(int socket) {
  fcntl(socket, F_SETFD, FD_CLOEXEC);
  std::signal(SIGINT, SIG_IGN);  // of a terminal: the command gets it too
  sigset_t children, before;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigprocmask(SIG_BLOCK, &children, &before);
  const UniqueFd signals(signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
  (void)!send(socket, "ready", 5, MSG_NOSIGNAL);
  while (true) {
    std::array<UniqueFd, 2> files;
    const std::optional<std::string> text = Receive(socket, files);
    if (!text) return std::nullopt;
    const std::optional<Request> request = ReadRequest(*text, std::move(files));
    if (!request) {
      // A signal for a command that has ended, or no request at all.
      if (text->contains('\0')) Answer(socket, kBadInput << 8);
      continue;
    }
    const pid_t child = fork();
    if (child == 0) {
      close(socket);
      Become(*request, before);
      return request->words;
    }
    if (child < 0) {
      Answer(socket, kDied << 8);
    } else if (!WaitFor(child, socket, signals.get())) {
      return std::nullopt;
    }
  }
}

}  // namespace hloscope::app
