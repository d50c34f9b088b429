// The program whose precompiled headers the test programs take.
int main() {}
