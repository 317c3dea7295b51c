#include <oarlock.h>
#include <oarlock.h>

int main(void)
{
    return oarlock_version()[0] == '0' ? 0 : 1;
}
