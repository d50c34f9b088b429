// The command `hloscope` of the wheel, 16 kB: runs the program that lies in the package, without starting Python. The installer puts it
// beside the environment's python; the package is in a folder of site-packages that is one of a few from there.
#define _GNU_SOURCE
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char* const kFolders[] = {
    "../lib/python3*/site-packages", "../lib64/python3*/site-packages", "../lib/python3*/dist-packages", "../local/lib/python3*/dist-packages",
    "..",  // `pip install --target`, whose commands are in its folder bin
};

int main(int count, char** arguments) {
  (void)count;
  char self[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
  if (size < 0) {
    perror("hloscope: /proc/self/exe");
    return 4;
  }
  self[size] = '\0';
  *(strrchr(self, '/') + 1) = '\0';
  for (size_t i = 0; i < sizeof kFolders / sizeof *kFolders; ++i) {
    char pattern[3 * PATH_MAX];
    // What glob() would take for a pattern in the folder's own name is none.
    size_t end = 0;
    for (const char* at = self; *at != '\0'; ++at) {
      if (strchr("*?[]\\", *at) != NULL) pattern[end++] = '\\';
      pattern[end++] = *at;
    }
    snprintf(pattern + end, sizeof pattern - end, "%s/hloscope/prefix/bin/hloscope", kFolders[i]);
    glob_t found;
    if (glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 0) {
      execv(found.gl_pathv[0], arguments);
      perror(found.gl_pathv[0]);
      return 4;
    }
  }
  fprintf(stderr, "hloscope: no package `hloscope` beside %s; install it again with the pip of this environment, or call `python -m hloscope`\n", self);
  return 4;
}
