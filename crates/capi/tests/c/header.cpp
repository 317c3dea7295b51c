#include <oarlock.hpp>
#include <oarlock.hpp>

int main()
{
    return oarlock_version()[0] == '0' ? 0 : 1;
}
